"""The op graph of one call on the workload, captured by the worker: what ran, on which shapes, from which expression."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CodeSpan:
    """An expression in the user's file: lines from 0, columns in code points, end-exclusive."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int


@dataclass(frozen=True)
class TensorType:
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str  # "float32", "float16", "bfloat16", "int64", "bool", …


@dataclass(frozen=True)
class Value:
    """A tensor of the graph. `origin` is "input", "parameter", "buffer", "constant" or "node".

    `name` is how the source spells it where that is known: the argument name for an input, the attribute path
    ("linear.weight", without self) for a parameter or buffer.
    """

    id: int
    type: TensorType
    origin: str
    name: str = ""


@dataclass(frozen=True)
class TensorRef:
    """An argument that is the graph's Value with this id."""

    id: int


Argument = TensorRef | int | float | bool | str | None | tuple["Argument", ...]


@dataclass(frozen=True)
class Node:
    """One torch call: canonical op name ("add", "linear", "softmax"), with bound arguments, in order of execution.

    `where` is the innermost expression in the user's file that made the call; None when it came from elsewhere.
    `inplace` marks `add_`-like calls, whose output is their first argument.
    """

    id: int
    op: str
    args: tuple[Argument, ...]
    kwargs: Mapping[str, Argument] = field(default_factory=dict)
    outputs: tuple[int, ...] = ()  # Value ids
    where: CodeSpan | None = None
    module: str = ""  # path of the innermost submodule that made the call: "bn1"
    inplace: bool = False
    estimated_bytes: int = 0
    estimated_flops: int = 0

    def tensor(self, position: int = 0) -> int:
        """The id of the Value at a position where the operator takes a tensor. Raises TypeError for anything else."""
        given = self.args[position]
        if not isinstance(given, TensorRef):
            raise TypeError(f"argument {position} of {self.op} is no tensor of the graph: {given!r}")
        return given.id


@dataclass(frozen=True)
class Graph:
    entry: str
    text_hash: str
    device: str  # "cpu" | "cuda"
    training: bool
    values: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]  # Value ids returned by the call, flattened

    def value(self, id: int) -> Value:
        return self.values[id]
