"""Results of which some operand lies in memory the other way round: tiles have neighbours of both side by side."""

from dataclasses import dataclass

from kernelwright.nest.form import Axis, Load, Nest


@dataclass(frozen=True)
class Turned:
    """The axes of the result in three parts: an operand has `columns` in front of `rows`."""

    outer: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]


def turned(nest: Nest) -> Turned | None:
    """The parts, where an operand as large as the result has its last axis not where the result has it."""
    if nest.gathers or len(nest.spatial) < 2:
        return None
    for load in (let.expr for let in nest.lets if isinstance(let.expr, Load)):
        found = _parts(nest, load)
        if found is not None:
            return found
    return None


def _parts(nest: Nest, load: Load) -> Turned | None:
    """The parts of the result's axes by one load."""
    spatial = nest.spatial
    names = [axis.name for axis in spatial]
    own = [next((name for name in index.names() if name in names), "") for index in load.index]
    if set(own) != set(names) or len(own) != len(names) or own[-1] == names[-1]:
        return None
    stop = names.index(own[-1]) + 1
    start = stop - 1
    while start and own.index(names[start - 1]) == own.index(names[start]) - 1:
        start -= 1
    return Turned(spatial[:start], spatial[start:stop], spatial[stop:])
