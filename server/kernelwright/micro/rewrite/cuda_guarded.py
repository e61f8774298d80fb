"""A kernel whose work stands under plain guards: `if (row < M && col < N) { … }`, or an early return."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import substituted
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda import Source
from kernelwright.source.cuda.text import field, is_inside, of_type, walk
from kernelwright.values import Refusal

X, Y = "threadIdx.x", "threadIdx.y"
_NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


@dataclass(frozen=True, eq=False)
class Bound:
    """A condition under which there is work: a node, or its opposite."""

    node: Node
    negated: bool

    def code(self, source: Source, meanings: Mapping[str, str]) -> str:
        """The condition with other expressions in the place of names."""
        node = self.node
        if not self.negated:
            return substituted(source, node, meanings)
        left, right, sign = field(node, "left"), field(node, "right"), field(node, "operator")
        opposite = _NEGATED.get(source.content(sign)) if sign is not None else None
        if node.type != "binary_expression" or left is None or right is None or opposite is None:
            return f"!({substituted(source, node, meanings)})"
        return f"{substituted(source, left, meanings)} {opposite} {substituted(source, right, meanings)}"


@dataclass(frozen=True, eq=False)
class Guard:
    """An `if` around the work, or one that returns early."""

    node: Node
    returns: bool
    bounds: tuple[Bound, ...]


@dataclass(frozen=True, eq=False)
class Guarded:
    """The parts of a kernel in order of the text: `head` stands ahead of every guard, `between` behind them.

    `pragma` is what stands in front of the work, `after` what follows it under the same guards.
    """

    head: tuple[Node, ...]
    guards: tuple[Guard, ...]
    between: tuple[Node, ...]
    pragma: Node | None
    work: Node
    after: tuple[Node, ...]

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return tuple(bound for guard in self.guards for bound in guard.bounds)

    @property
    def outer(self) -> Guard | None:
        """The guard that the work stands inside of."""
        return next((one for one in self.guards if not one.returns), None)


def guarded(sight: CudaSight, work: Node) -> Guarded | Refusal:
    """The kernel cut at its guards and at one statement, its work."""
    head: list[Node] = []
    guards: list[Guard] = []
    between: list[Node] = []
    statements = list(sight.kernel.body.named_children)
    pragma = None
    while statements:
        one = statements.pop(0)
        line = one.start_point.row
        if one == work:
            after = tuple(rest for rest in statements if rest.type != "comment")
            return Guarded(tuple(head), tuple(guards), tuple(between), pragma, work, after)
        if one.type == "if_statement":
            guard = _guard(sight, one, work)
            if isinstance(guard, Refusal):
                return guard
            guards.append(guard)
            inside = field(one, "consequence")
            if not guard.returns and inside is not None:
                if any(rest.type != "comment" for rest in statements):
                    return Refusal("Code follows the guarded work.", statements[0].start_point.row)
                statements = list(inside.named_children) if inside.type == "compound_statement" else [inside]
        elif one.type == "preproc_call":
            pragma = one
        elif one.type in ("declaration", "comment"):
            (between if guards else head).append(one)
        else:
            return Refusal("Something other than declarations and guards stands ahead of the work.", line)
    return Refusal("The work is nested in something other than a guard.", work.start_point.row)


def kind_of(sight: CudaSight, node: Node) -> str:
    """The thread axes that an expression depends on: "", "x", "y" or "xy"."""
    behind = sight.names.behind(node)
    return "".join(axis for axis, name in (("x", X), ("y", Y)) if name in behind)


def reads_memory(sight: CudaSight, node: Node) -> bool:
    """Whether an expression reads an element, or hands a pointer to a function that may."""
    if next(of_type(node, "subscript_expression"), None) is not None:
        return True
    if any(sight.content(one).startswith("*") for one in of_type(node, "pointer_expression")):
        return True
    pointers = {one.name for one in sight.kernel.parameters if one.is_pointer}
    calls = (field(one, "arguments") for one in of_type(node, "call_expression"))
    return any(sight.names.behind(given) & pointers for given in calls if given is not None)


def hidden_access(sight: CudaSight, statement: Node) -> Node | None:
    """A call or a dereference by which a statement may touch memory that its subscripts do not show."""
    for node in walk(statement):
        if node.type == "pointer_expression" and sight.content(node).startswith("*"):
            return node
        if node.type == "call_expression" and node.parent is not None:
            callee = field(node, "function")
            called = sight.file.function(sight.content(callee)) if callee is not None else None
            takes_pointers = called is not None and any(one.is_pointer for one in called.parameters)
            is_barrier = callee is not None and sight.content(callee) == "__syncthreads"
            if takes_pointers or (node.parent.type == "expression_statement" and not is_barrier):
                return node
    return None


def statements_of(body: Node) -> tuple[Node, ...]:
    if body.type != "compound_statement":
        return (body,)
    return tuple(one for one in body.named_children if one.type != "comment")


def declared(sight: CudaSight, node: Node) -> frozenset[str]:
    """The names that a declaration gives a meaning."""
    names = set()
    for one in node.children_by_field_name("declarator"):
        inner: Node | None = one
        while inner is not None and inner.type != "identifier":
            inner = field(inner, "declarator") or next(iter(inner.named_children), None)
        if inner is not None:
            names.add(sight.content(inner))
    return frozenset(names)


def type_of(sight: CudaSight, name: str) -> str:
    """The type that a local or an array is declared with; "" for any other name."""
    for one in of_type(sight.kernel.body, "declaration"):
        kind = field(one, "type")
        if kind is not None and name in declared(sight, one):
            return sight.content(kind)
    return ""


def _guard(sight: CudaSight, node: Node, work: Node) -> Guard | Refusal:
    condition, inside = field(node, "condition", "value"), field(node, "consequence")
    if condition is None or inside is None or field(node, "alternative") is not None:
        return Refusal("The guard has an else branch.", node.start_point.row)
    if is_inside(work, inside):
        return Guard(node, False, tuple(Bound(one, False) for one in joined(sight, condition, "&&")))
    only = statements_of(inside)
    if len(only) == 1 and only[0].type == "return_statement" and node.end_byte <= work.start_byte:
        return Guard(node, True, tuple(Bound(one, True) for one in joined(sight, condition, "||")))
    return Refusal("A condition that is no guard stands ahead of the work.", node.start_point.row)


def joined(sight: CudaSight, node: Node, operator: str) -> Iterator[Node]:
    """The parts of `a && b && c`."""
    inner = node
    while inner.type == "parenthesized_expression":
        inner = inner.named_children[0]
    sign = field(inner, "operator")
    if inner.type == "binary_expression" and sign is not None and sight.content(sign) == operator:
        for side in ("left", "right"):
            part = field(inner, side)
            if part is not None:
                yield from joined(sight, part, operator)
    else:
        yield inner
