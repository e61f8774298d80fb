"""Rows of points whose conditions come out alike for all rows of a thread: asked once, so that no row waits for another's.

Where they do not, as at a border, a thread goes through its rows one after another as before.
"""

from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_coarsen import Row, continued, first_row, outside
from kernelwright.micro.rewrite.cuda_code import hiding_macro, substituted
from kernelwright.micro.rewrite.cuda_guarded import joined, statements_of
from kernelwright.micro.rewrite.cuda_independent import declared_in
from kernelwright.micro.rewrite.cuda_kinds import INT, Kinds
from kernelwright.micro.rewrite.cuda_patch import Patch
from kernelwright.micro.rewrite.cuda_region import indented, region, unit_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.text import field, of_type
from kernelwright.values import Refusal

_NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_FLIPPED = {"<": ">", ">=": "<=", ">": "<", "<=": ">=", "==": "==", "!=": "!="}
_BUSY = ("subscript_expression", "call_expression", "assignment_expression", "update_expression", "pointer_expression")


@dataclass(frozen=True, eq=False)
class _Inside:
    """What a row does where conditions come out as they mostly do: its `lines`, and what has to hold for all rows."""

    lines: tuple[str, ...]
    conditions: tuple[str, ...]


def unconditional(sight: CudaSight, row: Row, patch: Patch) -> Refusal | None:
    """Write the rows of a thread without the conditions that all of them pass, and behind them the kernel as it is."""
    statements = [one for one in sight.kernel.body.named_children if one.start_byte >= row.declaration.end_byte]
    refused = outside(sight, statements)
    if refused is not None:
        return refused
    ahead = list[Node]()
    for one in statements:
        if one.type not in ("declaration", "comment") or not _is_ahead(sight, row, one):
            break
        ahead.append(one)
    rest = statements[len(ahead) :]
    found = _Writer(sight, row, declared_in(sight.names, tuple(rest))).inside(rest)
    if not found.conditions:
        return Refusal("No condition comes out alike for rows beside each other.", row.declaration.start_point.row)
    first_row(row, patch)
    source, unit = sight.file.source, unit_of(sight.file.source, sight.kernel)
    begin, end = row.declaration.end_byte, sight.kernel.body.end_byte - 1
    start = ahead[-1].end_byte if ahead else begin
    loop = [row.loop, *indented(found.lines, unit), "}"]
    text = [
        *(region(source, (begin, start)) if ahead else []),
        f"if ({' && '.join(dict.fromkeys(found.conditions))}) {{",
        *indented(["#pragma unroll", *loop, "return;"], unit),
        "}",
        row.loop,
        *indented(region(source, (start, end), continued(sight, rest)), unit),
        "}",
    ]
    patch.between(begin, end, "\n" + "\n".join(indented(text, unit)) + "\n")
    return None


def _is_ahead(sight: CudaSight, row: Row, node: Node) -> bool:
    """Whether a declaration is the same for all rows and reads no memory."""
    return not any(of_type(node, *_BUSY)) and row.name not in sight.names.behind(node)


class _Writer:
    """Goes through the statements of a row; `own` are the names that they declare."""

    def __init__(self, sight: CudaSight, row: Row, own: frozenset[str]) -> None:
        self._sight = sight
        self._row = row
        self._own = own
        self._kinds = Kinds(sight.file, sight.kernel)

    def inside(self, statements: list[Node]) -> _Inside:
        lines, conditions = list[str](), list[str]()
        for one in statements:
            asked = self._asked(one) if one.type == "if_statement" else None
            if asked is None:
                span = one.start_byte, one.end_byte
                lines += region(self._sight.file.source, span, continued(self._sight, [one]))
                continue
            found, branch = asked
            conditions += found
            inner = self.inside(list(statements_of(branch))) if branch is not None else _Inside((), ())
            conditions += inner.conditions
            is_scope = branch is not None and any(each.type == "declaration" for each in statements_of(branch))
            lines += ["{", *indented(inner.lines, "    "), "}"] if is_scope and len(statements) > 1 else inner.lines
        return _Inside(tuple(lines), tuple(conditions))

    def _asked(self, node: Node) -> tuple[list[str], Node | None] | None:
        """What holds for all rows where the `if` takes its usual way, and that way; None where it has to be asked each time."""
        condition, then = field(node, "condition", "value"), field(node, "consequence")
        other = field(node, "alternative")
        if condition is None or then is None or self._is_late(condition):
            return None
        leaves = [one.type for one in statements_of(then)] == ["return_statement"]
        every, any_ = (list(joined(self._sight, condition, sign)) for sign in ("&&", "||"))
        sign = self._sign(any_[0])
        if len(any_) > 1 or leaves or sign == "==":
            parts, is_true = any_, False
        elif len(every) > 1 or sign == "!=" or (sign and other is None):
            parts, is_true = every, True
        else:
            return None
        found = [self._for_all(one, is_true) for one in parts]
        whole = [one for one in found if one is not None]
        alternative = other.named_children[0] if other is not None and other.type == "else_clause" else other
        return (whole, then if is_true else alternative) if len(whole) == len(parts) else None

    def _is_late(self, condition: Node) -> bool:
        """Whether a condition reads memory, or what is made for each row or shown by no text."""
        sight = self._sight
        busy = next(of_type(condition, *_BUSY), None) or hiding_macro(sight.names, condition)
        mentioned = {sight.content(one) for one in of_type(condition, "identifier")}
        return busy is not None or bool(mentioned & self._own)

    def _sign(self, node: Node) -> str:
        operator = field(node, "operator")
        sign = self._sight.content(operator) if operator is not None else ""
        return sign if sign in _NEGATED and node.type == "binary_expression" else ""

    def _for_all(self, node: Node, is_true: bool) -> str | None:
        """The code that a condition is true, or that it is false, for all rows."""
        sign, left, right = self._sign(node), field(node, "left"), field(node, "right")
        name = self._row.name
        if name not in self._sight.names.behind(node) and not (sign and self._are_whole(left, right)):
            code = self._sight.content(node)
            return code if is_true and not self._binds(node) else f"({code})" if is_true else f"!({code})"
        if not sign or left is None or right is None or not self._are_whole(left, right):
            return None
        sign = sign if is_true else _NEGATED[sign]
        if self._is_of_row(right):
            left, right, sign = right, left, _FLIPPED[sign]
        fixed = self._sight.content(right)
        if not self._is_of_row(left):
            return f"{self._sight.content(left)} {sign} {fixed}"
        if self._is_of_row(right) or not self._rises(left):
            return None
        source, row = self._sight.file.source, self._row
        first, last = (substituted(source, left, {name: end}) for end in (row.first, row.last))
        if sign == "!=" and fixed == "0" and self._sight.content(left) == self._row.name:
            return f"{first} > 0"  # no row is before the first one
        ends = {"<": f"{last} < {fixed}", "<=": f"{last} <= {fixed}", ">": f"{first} > {fixed}",
                ">=": f"{first} >= {fixed}", "!=": f"({last} < {fixed} || {first} > {fixed})"}  # fmt: skip
        return ends.get(sign)

    def _are_whole(self, *nodes: Node | None) -> bool:
        return all(self._kinds.of(one) == INT for one in nodes)

    def _is_of_row(self, node: Node) -> bool:
        return self._row.name in self._sight.names.behind(node)

    def _rises(self, node: Node) -> bool:
        """Whether an expression is larger for a later row, and speaks of the row by its own name."""
        names = Names(self._sight.file, self._sight.kernel, frozenset({self._row.name}))
        index = names.polynomial(node)
        step = index.coefficient(self._row.name)
        mentioned = {self._sight.content(one) for one in of_type(node, "identifier")}
        rest = index.without(self._row.name).names if step is not None else frozenset({self._row.name})
        is_plain = not any(self._row.name in name for name in rest) and self._row.name in mentioned
        return step is not None and step.number is not None and step.number > 0 and is_plain

    def _binds(self, node: Node) -> bool:
        return node.type in ("conditional_expression", "binary_expression")
