"""Sizes as expressions of the launcher's tensors, so that a printed launcher works for other shapes too."""

import math
from collections.abc import Sequence

from kernelwright.micro.rewrite.program import ELEMENT, ROW, Operand, Program, Term
from kernelwright.micro.rewrite.scope import NotLowerable
from kernelwright.nest.layouts import CHANNELS_LAST


def suffix(program: Program, operand: Operand, term: Term) -> str:
    """The number of elements of the main tensor that the operand's index stays the same for, in a row of neighbours.

    Raises NotLowerable where that is no product of the main tensor's last dims.
    """
    main, shape, size, last = program.main.name, program.domain.shape, term.inner, term.last
    any_rank = program.any_rank
    if program.domain.layout == CHANNELS_LAST and operand.level == ELEMENT:
        return _channels_last_suffix(main, shape, size)
    if 0 <= last < len(shape) and math.prod(shape[len(shape) - last :]) == size:
        return dims(main, shape, len(shape) - last, len(shape), any_rank=any_rank) if last else "1"
    if size == 1:
        return "1"
    for start in range(len(shape) - 1, -1, -1):
        if math.prod(shape[start:]) == size:
            return dims(main, shape, start, len(shape), any_rank=any_rank)
    raise NotLowerable("A broadcast does not follow the dims of the region's main tensor.")


def _channels_last_suffix(name: str, shape: tuple[int, ...], size: int) -> str:
    """suffix() in the order of channels-last memory, where the channels come last. Raises NotLowerable."""
    if size == 1:
        return "1"
    for start in range(len(shape), 1, -1):
        if shape[1] * math.prod(shape[start:]) == size:
            spatial = dims(name, shape, start, len(shape))
            return f"{name}.shape[1]" if spatial == "1" else f"{name}.shape[1] * {spatial}"
    raise NotLowerable("A broadcast does not follow the dims of the region's main tensor.")


def dims(name: str, shape: tuple[int, ...], start: int, stop: int, *, any_rank: bool = False) -> str:
    """The product of the dims start:stop of the tensor `name`, with `any_rank` counted from the last one."""
    rank = len(shape)
    if stop == start:
        return "1"
    if stop - start == 1:
        return f"{name}.shape[{start - rank if any_rank or start == rank - 1 else start}]"
    if (start, stop) == (0, rank):
        return f"{name}.numel()"
    return f"{_slice(name, rank, start, stop, any_rank=any_rank)}.numel()"


def leading_dims(name: str, shape: tuple[int, ...], stop: int, *, any_rank: bool) -> str:
    """The product of the dims in front of `stop`, with `any_rank` of however many there are."""
    if any_rank:
        return f"{_slice(name, len(shape), 0, stop, any_rank=True, leading=True)}.numel()"
    return dims(name, shape, 0, stop)


def shape_text(
    name: str, rank: int, places: Sequence[int | None], *, any_rank: bool = False, leading: bool = False
) -> str:
    """A shape made of dims of the tensor `name`, and of 1 for None.

    With `any_rank` they are counted from the last one, and with `leading` all further dims in front of the first count as it.
    """
    parts: list[str] = []
    runs: list[list[int | None]] = []
    for place in places:
        follows = runs and place is not None and runs[-1][-1] is not None and runs[-1][-1] + 1 == place
        if follows:
            runs[-1].append(place)
        else:
            runs.append([place])
    for number, run in enumerate(runs):
        start, last = run[0], run[-1]
        if start is None or last is None:
            parts.append("1")
            continue
        first = any_rank and leading and number == 0 and start == 0
        if len(run) > 1 or first or (len(runs) == 1 and last == rank - 1):
            parts.append("*" + _slice(name, rank, start, last + 1, any_rank=any_rank, leading=first))
        else:
            parts.append(dims(name, (0,) * rank, start, last + 1, any_rank=any_rank))
    if len(parts) == 1 and parts[0].startswith("*"):
        return parts[0][1:]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _slice(name: str, rank: int, start: int, stop: int, *, any_rank: bool, leading: bool = False) -> str:
    if start == 0 and (leading or not any_rank):
        first = ""
    else:
        first = str(start - rank if any_rank or (stop == rank and rank - start == 1) else start)
    last = "" if stop == rank else str(stop - rank if any_rank else stop)
    return f"{name}.shape[{first}:{last}]" if first or last else f"{name}.shape"


def term_size(name: str, shape: tuple[int, ...], term: Term, place: tuple[int, int], *, any_rank: bool = False) -> str:
    """The number of elements of the tensor `name` that one term walks over."""
    if term.size == math.prod(shape):
        return f"{name}.numel()"
    return dims(name, shape, *place, any_rank=any_rank)


def result_shape(program: Program) -> str | None:
    """The shape of a result with one number per row, from the main tensor's; None when it does not follow from it."""
    found = _result_places(program)
    if found is None:
        return None
    main, rank = program.main.name, len(program.domain.shape)
    return shape_text(main, rank, found[0], any_rank=program.any_rank, leading=True)


def left_out(program: Program) -> list[int]:
    """The main tensor's dims that a result with one number per row does not have, which are 1 therefore."""
    found = _result_places(program) if program.result_level == ROW else None
    return found[1] if found else []


def _result_places(program: Program) -> tuple[list[int | None], list[int]] | None:
    """For each dim of the result the main tensor's dim that it is, None for one of size 1; and the dims that are left out."""
    shape, axes, result = program.domain.shape, program.domain.axes, program.result_shape
    if axes is None:
        return None
    kept = [d for d in range(len(shape)) if not axes[0] <= d < axes[1]]
    if result == tuple(size if d in kept else 1 for d, size in enumerate(shape)):
        return [d if d in kept else None for d in range(len(shape))], []
    places: list[int | None] = []
    for size in result:
        if kept and shape[kept[0]] == size:
            places.append(kept.pop(0))
        elif size == 1:
            places.append(None)
        else:
            return None
    return (places, kept) if all(shape[d] == 1 for d in kept) else None
