"""What the rules of algebra share: a graph with its uses, the chain of affine operations above a value, and a match."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.micro.rewrite.algebra_source import Code, Spelling, replace
from kernelwright.place.source_map import SourceMap, references
from kernelwright.values import Argument, Edits, Graph, Node, Refusal, TensorRef

_ITEM_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
_SIGNS = {"mul": "*", "div": "/", "add": "+", "sub": "-"}


@dataclass(frozen=True)
class Match:
    """One rule at one place: the nodes that go, the Value that the new code computes, and what that saves."""

    nodes: frozenset[int]
    output: int
    label: str
    write: Callable[[Spelling], Code]
    saved_flops: int
    saved_bytes: int
    aliases: bool = False  # the new result is an operand itself, not a tensor of its own


@dataclass(frozen=True)
class Step:
    """One affine operation on `value`: `op` is "mul", "div", "add", "sub", "rsub" or "neg"; `other` its operand.

    `position` is that of the operand in the call; -1 where it is in no call, as the 2 of x + x.
    """

    node: Node
    op: str
    value: int
    other: Argument = None
    position: int = 1

    @property
    def scales(self) -> bool:
        return self.op in ("mul", "div", "neg")

    @property
    def by_scalar(self) -> bool:
        return self.tensor is None

    @property
    def tensor(self) -> int | None:
        """The operand where it is a tensor."""
        return self.other.id if isinstance(self.other, TensorRef) else None


@dataclass(frozen=True)
class View:
    """A Graph with its producers and users at hand."""

    graph: Graph

    @functools.cached_property
    def _producers(self) -> dict[int, Node]:
        return {v: node for node in self.graph.nodes for v in node.outputs}

    @functools.cached_property
    def _users(self) -> dict[int, list[Node]]:
        users: dict[int, list[Node]] = {}
        for node in self.graph.nodes:
            for v in dict.fromkeys(references(node)):
                users.setdefault(v, []).append(node)
        return users

    def producer(self, id: int) -> Node | None:
        return self._producers.get(id)

    def only_user(self, id: int) -> Node | None:
        """The node that uses the value, when nothing else does."""
        users = self._users.get(id, [])
        return users[0] if len(users) == 1 and id not in self.graph.outputs else None

    def private(self, id: int) -> Node | None:
        """The producer of a value that only one node uses."""
        return self.producer(id) if self.only_user(id) is not None else None

    def users(self, id: int) -> tuple[Node, ...]:
        return tuple(self._users.get(id, ()))

    def used(self, id: int) -> bool:
        return bool(self._users.get(id)) or id in self.graph.outputs

    def aliased(self, id: int, source: int) -> bool:
        """Whether the caller would get one of its own tensors back if `source` took the place of `id`."""
        return id in self.graph.outputs and self.producer(source) is None

    def shape(self, id: int) -> tuple[int, ...]:
        return self.graph.value(id).type.shape

    def floating(self, id: int) -> bool:
        return self.graph.value(id).type.dtype in _ITEM_BYTES

    def bytes(self, *ids: int) -> int:
        return sum(math.prod(self.shape(i)) * _ITEM_BYTES.get(self.graph.value(i).type.dtype, 8) for i in ids)

    def step(self, node: Node | None, follow: int | None = None) -> Step | None:
        """`node` as an affine operation on the operand `follow`, by default the one that has its result's shape."""
        if node is None or node.inplace or node.op not in ("mul", "div", "add", "sub", "neg"):
            return None
        if node.kwargs.get("alpha", 1) != 1 or node.kwargs.get("rounding_mode") is not None:
            return None
        if not self.floating(node.outputs[0]):
            return None
        shape = self.shape(node.outputs[0])
        whole = [
            i
            for i, a in enumerate(node.args)
            if isinstance(a, TensorRef) and self.shape(a.id) == shape and follow in (None, a.id)
        ]
        if node.op == "neg":
            return Step(node, "neg", node.tensor())
        if len(whole) == 2 and node.op == "add" and node.args[0] == node.args[1]:
            return Step(node, "mul", node.tensor(), 2, -1)
        if not whole or (len(whole) > 1) or any(isinstance(a, bool | str | None) for a in node.args):
            return None
        position = whole[0]
        value, other = node.tensor(position), node.args[1 - position]
        if isinstance(other, TensorRef) and not self.same_dtype(value, other.id, node.outputs[0]):
            return None
        if node.op == "div" and position == 1:
            return None
        op = "rsub" if node.op == "sub" and position == 1 else node.op
        return Step(node, op, value, other, 1 - position)

    def same_dtype(self, *ids: int) -> bool:
        return len({self.graph.value(i).type.dtype for i in ids}) == 1

    def chain(self, id: int) -> tuple[tuple[Step, ...], int]:
        """The affine steps that lead to `id`, in order of execution, and the value that they start from."""
        steps: list[Step] = []
        while (step := self.step(self.private(id))) is not None:
            steps.append(step)
            id = step.value
        return tuple(reversed(steps)), id


@dataclass(frozen=True)
class Factor:
    """A product of scalars as source: what multiplies, what divides, and the sign."""

    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    negative: bool = False

    def then(self, step: Step, operand: str) -> "Factor":
        if step.op == "neg":
            return self.negated()
        if step.op == "mul":
            return Factor((*self.above, operand), self.below, self.negative)
        return Factor(self.above, (*self.below, operand), self.negative)

    def negated(self) -> "Factor":
        return Factor(self.above, self.below, not self.negative)

    @property
    def is_one(self) -> bool:
        return self == Factor()

    @property
    def number(self) -> str:
        """This factor as an expression."""
        number = "".join([" * ".join(self.above) or "1.0", *(f" / {d}" for d in self.below)])
        single = len(self.above) + len(self.below) <= 1
        return f"-{number if single else f'({number})'}" if self.negative else number

    def times(self, text: str) -> str:
        """`text`, times this factor as one number."""
        if self.negative and (not self.above or self.is_one):
            return f"-({Factor(self.above, self.below).times(text)})"
        if self.is_one:
            return text
        if not self.above and len(self.below) == 1:
            return f"{text} / {self.below[0]}"
        several = len(self.above) + len(self.below) > 1 and not self.negative
        return f"{text} * {f'({self.number})' if several else self.number}"


def written(step: Step, spelling: Spelling) -> str:
    """The operand of a step as source."""
    if isinstance(step.other, TensorRef):
        return spelling.value(step.other.id)
    if step.position < 0:
        return repr(step.other)  # x + x: nobody wrote the 2
    return spelling.scalar(step.node, step.position, "other" if step.position else "input")


def applied(step: Step, text: str, operand: str) -> str:
    """`text` after the step."""
    if step.op == "neg":
        return f"-{text}"
    if step.op == "rsub":
        return f"{operand} - {text}"
    return f"{text} {_SIGNS[step.op]} {operand}"


def put_in_place(source: SourceMap, match: Match) -> Edits | Refusal:
    """Edits of the source's text that put the match's new code in the place of its nodes."""
    return replace(source, match.nodes, match.output, match.write, match.label, aliases=match.aliases)


def dims_of(node: Node) -> tuple[int, ...]:
    """The dimensions that a reduction runs over; none where the call names none."""
    given = node.kwargs.get("dim")
    return tuple(d for d in given if isinstance(d, int)) if isinstance(given, tuple) else ()


def line_of(node: Node) -> int | None:
    return node.where.start_line if node.where else None
