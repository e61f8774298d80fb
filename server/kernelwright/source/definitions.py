"""What the top-level pieces of a file define and launch, as values; lines count from the start of the piece.

They are compared by identity: the outline of an unchanged piece is the same object, which makes its parts cheap keys.
"""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernelwright.values import Facts

NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, eq=False)
class RawLaunch:
    """`callee[grid](args)`: `callees` are the names that the launched expression mentions."""

    line: int
    callees: tuple[str, ...]
    grid: str
    args: tuple[str, ...]
    kwargs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class Function:
    """A def. `owner` is the class around it, `outer` the top-level function around it."""

    name: str
    start_line: int
    end_line: int
    name_line: int
    name_column: int
    owner: str | None
    outer: str | None
    decorators: tuple[str, ...]
    is_jit: bool
    uses_triton: bool
    parameters: tuple[str, ...]
    mentions: frozenset[str]
    launches: tuple[RawLaunch, ...]
    assignments: tuple[tuple[str, str], ...]  # target and value as written, in order
    called_in_loops: frozenset[str]
    returns: bool  # a value
    tensor_maths: bool
    facts: Facts
    operations_passed: int  # on each element that is passed to it, beside those of its facts
    passes_to: frozenset[str]  # the functions that it passes elements to


@dataclass(frozen=True, eq=False)
class Class:
    name: str
    start_line: int
    end_line: int
    name_line: int
    name_column: int
    bases: tuple[str, ...]
    methods: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Outline:
    """One piece. `launches` are those outside any function, `configs` counts every `triton.Config(…)` written in it."""

    functions: tuple[Function, ...] = ()
    classes: tuple[Class, ...] = ()
    assigned: tuple[tuple[str, frozenset[str]], ...] = ()  # top-level names, with what their values mention
    launches: tuple[RawLaunch, ...] = ()
    configs: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """What the piece defines or assigns."""
        return (*(function.name for function in self.functions), *(name for name, _ in self.assigned))

    @functools.cached_property
    def defines(self) -> frozenset[str]:
        """The names by which this piece can change what the kernels of another one are: most methods' do not."""
        if self.configs:
            return frozenset((*self.names, *(found.name for found in self.classes)))
        called = (
            f.name for f in self.functions if f.uses_triton or f.launches or (f.owner is None and f.outer is None)
        )
        return frozenset((*called, *(found.name for found in self.classes)))

    @functools.cached_property
    def aliases(self) -> tuple[tuple[str, frozenset[str]], ...]:
        """The top-level names that may stand for a definition of the file, with what their values mention."""
        return tuple((name, mentions) for name, mentions in self.assigned if mentions)

    @property
    def _quoted(self) -> Iterator[str]:
        """What functions assign that holds a string, whose names are no mentions."""
        values = (value for function in self.functions for _, value in function.assignments)
        return (value for value in values if '"' in value or "'" in value)

    @functools.cached_property
    def touches(self) -> frozenset[str]:
        """Every name by which the piece can belong to another: used, defined, or in a string that is assigned."""
        return self.defines.union(
            *(function.mentions for function in self.functions),
            *(NAME.findall(text) for text in self._quoted),
            *({name, *mentions} for name, mentions in self.assigned),
            *(launch.callees for launch in self.launches),
            *(found.bases for found in self.classes),
        )
