"""What the top-level pieces of a file define and launch, as values; lines count from the start of the piece.

They are compared by identity: the outline of an unchanged piece is the same object, which makes its parts cheap keys.
"""

from dataclasses import dataclass

from kernelwright.values import Facts


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
    tensor_maths: bool
    facts: Facts


@dataclass(frozen=True, eq=False)
class Class:
    name: str
    start_line: int
    end_line: int
    name_line: int
    name_column: int
    bases: tuple[str, ...]
    methods: tuple[str, ...]


@dataclass(frozen=True)
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
