"""Loops over a window whose turns test whether they lie inside of an image, as loops over the part that does."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import named, plain, written
from kernelwright.micro.rewrite.cuda_guarded import declared, joined, statements_of
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_region import indented, region
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.expressions import Loop, Names
from kernelwright.source.cuda.text import field, is_inside, of_type, walk
from kernelwright.source.polynomials import Polynomial, number
from kernelwright.values import Refusal

_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_NEGATED = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}
_LIMITS = ("min", "max")
_BUSY = ("call_expression", "update_expression", "assignment_expression", "lambda_expression", "preproc_call")


@dataclass(frozen=True, eq=False)
class Bound:
    """A condition on one loop's variable: at least `limit`, or at most `limit` where it is `upper`."""

    loop: Loop
    upper: bool
    limit: Polynomial
    condition: Node


@dataclass(frozen=True, eq=False)
class Window:
    """Loops inside of each other that do nothing but what stands under `test`; `bounds` are what it asks of their variables."""

    loops: tuple[Loop, ...]
    test: Node
    bounds: tuple[Bound, ...]
    left: tuple[Node, ...]  # conditions that say something else
    skips: bool  # `if (x < 0 || x >= width) continue;` ahead of the work


def clipped(sight: CudaSight) -> tuple[str, tuple[Window, ...]] | Refusal:
    """The text with each window's loops over what its test lets through, and these windows."""
    found, text = list[Window](), sight.source
    while True:
        window = _first(sight)
        if isinstance(window, Refusal):
            return (text, tuple(found)) if found else window
        found.append(window)
        patch = sight.patch()
        _write(sight, patch, window)
        text = patch.text
        sight = sight.rewritten(text)


def _first(sight: CudaSight) -> Window | Refusal:
    """The first window of the kernel, or why there is none."""
    if not sight.names.loops:
        return Refusal("The kernel has no loop that counts.")
    refused = Refusal("No loop does its work under a condition on its variable alone.")
    for test in of_type(sight.kernel.body, "if_statement"):
        window = _window(sight, test)
        if isinstance(window, Window):
            return window
        refused = window or refused
    return refused


def _window(sight: CudaSight, test: Node) -> Window | Refusal | None:
    """The loops that do nothing but this test; None where there is none, a Refusal where they cannot be clipped."""
    condition, inside = field(test, "condition", "value"), field(test, "consequence")
    skips = inside is not None and [one.type for one in statements_of(inside)] == ["continue_statement"]
    loops = tuple(reversed(list(_only_in(sight, test, skips))))
    line = test.start_point.row
    if not loops or condition is None:
        return None
    if field(test, "alternative") is not None:
        return Refusal("Something is done outside of the window, too.", line)
    variables = {one.variable for one in loops}
    bounds, left = list[Bound](), list[Node]()
    for part in joined(sight, condition, "||" if skips else "&&"):
        bound = _bound(sight, loops, part, skips) if sight.names.behind(part) & variables else None
        if bound is None:
            left.append(part)
        else:
            bounds.append(bound)
    if not bounds:
        return Refusal(f"`{sight.content(condition)}` says nowhere where a loop begins or ends.", line)
    return Window(loops, test, tuple(bounds), tuple(left), skips)


def _only_in(sight: CudaSight, test: Node, skips: bool) -> Iterator[Loop]:
    """The loops around a statement that do nothing else ahead of it, nor behind it unless it `skips`; from the inside out."""
    inner = test
    while True:
        outer = inner.parent
        if outer is not None and outer.type == "compound_statement":
            outer = outer.parent
        loop = next((one for one in sight.names.loops if one.node == outer), None)
        if loop is None or not _is_plain(sight, loop):
            return
        statements = statements_of(loop.body)
        place = statements.index(inner)
        if not all(one.type == "declaration" and _is_pure(one) for one in statements[:place]):
            return
        if statements[place + 1 :] and not (skips and inner == test):
            return
        yield loop
        inner = loop.node


def _is_plain(sight: CudaSight, loop: Loop) -> bool:
    """Whether a loop counts an int in steps of 1 up to something, and nothing else changes its variable."""
    source, variable = sight.file.source, loop.variable
    kind, sign = field(loop.node, "initializer", "type"), field(loop.condition, "operator")
    left = field(loop.condition, "left")
    changes = (field(one, "left") or field(one, "argument") for one in of_type(
        loop.body, "assignment_expression", "update_expression", "pointer_expression"))  # fmt: skip
    return (
        kind is not None
        and sight.content(kind) == "int"
        and len(list(of_type(loop.node.child_by_field_name("initializer") or loop.node, "init_declarator"))) == 1
        and sign is not None
        and left is not None
        and sight.content(sign) in ("<", "<=")
        and plain(source, left) == variable
        and loop.update is not None
        and plain(source, loop.update) in (f"++{variable}", f"{variable}++", f"{variable}+=1")
        and not any(one is not None and plain(source, one) == variable for one in changes)
        and all(is_of_ints(sight, one, loop.body) for one in (loop.start, field(loop.condition, "right")) if one)
    )


def _is_pure(declaration: Node) -> bool:
    return next(of_type(declaration, *_BUSY), None) is None


def _bound(sight: CudaSight, loops: tuple[Loop, ...], part: Node, negated: bool) -> Bound | None:
    """What a comparison, or its opposite, asks of the innermost loop whose variable it is about."""
    sign, left, right = field(part, "operator"), field(part, "left"), field(part, "right")
    if part.type != "binary_expression" or sign is None or left is None or right is None:
        return None
    written_sign, inside = sight.content(sign), loops[0].body
    if written_sign not in _FLIPPED or not is_of_ints(sight, part, inside):
        return None
    written_sign = _NEGATED[written_sign] if negated else written_sign
    values = sight.names.values
    kept = frozenset(name for name, value in values.items() if not is_inside(value, inside))
    names = Names(sight.file, sight.kernel, kept)
    difference = names.polynomial(left) - names.polynomial(right)
    loop = next((one for one in reversed(loops) if one.variable in difference.names), None)
    step = difference.coefficient(loop.variable) if loop is not None else None
    if loop is None or step is None or step.number not in (1, -1):
        return None
    rest = difference.without(loop.variable)
    if step.number == 1:
        rest = number(0) - rest
    else:
        written_sign = _FLIPPED[written_sign]
    if not all(_is_settled(sight, name, loops, loop) for name in rest.names):
        return None
    limit = rest + number({"<": -1, ">": 1}.get(written_sign, 0))
    return Bound(loop, written_sign in ("<", "<="), limit, part)


def is_of_ints(sight: CudaSight, part: Node, inside: Node) -> bool:
    """Whether a comparison is one of ints throughout, so that it can be solved for one of them."""
    waiting, seen = [part], set[str]()
    while waiting:
        for node in walk(waiting.pop()):
            callee = field(node, "function")
            is_limit = callee is not None and sight.content(callee) in _LIMITS
            if (node.type in ("cast_expression", *_BUSY) and not is_limit) or _is_unsigned(sight, node):
                return False
            name = sight.content(node) if node.type == "identifier" else ""
            if not name or name in (*seen, *_LIMITS):
                continue
            seen.add(name)
            if _kinds(sight, name) != {"int"} and sight.file.number(name) is None:
                return False
            value = sight.names.values.get(name)
            waiting += [value] if value is not None and is_inside(value, inside) else []
    return True


def _kinds(sight: CudaSight, name: str) -> set[str]:
    """The types that a name is declared with in the kernel, once or in several places."""
    listed = ((one, field(one, "type")) for one in of_type(sight.kernel.body, "declaration"))
    found = {sight.content(kind) for one, kind in listed if kind is not None and name in declared(sight, one)}
    parameter = sight.kernel.parameter(name)
    return found | ({parameter.base + "*" * parameter.pointers} if parameter is not None else set())


def _is_unsigned(sight: CudaSight, node: Node) -> bool:
    return node.type == "field_expression" or (
        node.type == "number_literal" and not sight.content(node).lstrip("-").isdigit()
    )


def _is_settled(sight: CudaSight, name: str, loops: tuple[Loop, ...], loop: Loop) -> bool:
    """Whether a name keeps its value while a loop runs: nothing inside gives it one, or it is an outer loop's variable."""
    if name in {one.variable for one in loops[: loops.index(loop)]}:
        return True
    given = (field(one, "declarator") or field(one, "left") or field(one, "argument") for one in of_type(
        loops[0].node, "init_declarator", "assignment_expression", "update_expression", "pointer_expression"))  # fmt: skip
    inside = any(one is not None and sight.content(one) == name for one in given)
    return name.isidentifier() and not inside


def _write(sight: CudaSight, patch: Patch, window: Window) -> None:
    source = sight.file.source
    for loop in window.loops:
        lower = [written(one.limit) for one in window.bounds if one.loop is loop and not one.upper]
        if lower:
            patch.replace(loop.start, _nested("max", [sight.content(loop.start), *lower]))
        sign, right = field(loop.condition, "operator"), field(loop.condition, "right")
        assert sign is not None
        assert right is not None
        past = number(0 if sight.content(sign) == "<=" else 1)
        upper = [written(one.limit + past) for one in window.bounds if one.loop is loop and one.upper]
        if upper:
            patch.replace(right, _nested("min", [sight.content(right), *upper]))
    _drop(sight, patch, window)
    condition, inside = field(window.test, "condition", "value"), field(window.test, "consequence")
    assert condition is not None
    assert inside is not None
    if window.left:
        patch.replace(condition, (" || " if window.skips else " && ").join(sight.content(one) for one in window.left))
        return
    if window.skips:
        patch.cut(window.test)
        return
    if inside.type != "compound_statement":
        patch.replace(window.test, sight.content(inside))
        return
    margin = indent_of(source, window.test)
    lines = region(source, (inside.start_byte + 1, inside.end_byte - 1))
    if window.test.parent is not None and window.test.parent.type != "compound_statement":
        lines = ["{", *indented(lines, "    "), "}"]
    patch.replace(window.test, "\n".join(indented(lines, margin)).lstrip())


def _drop(sight: CudaSight, patch: Patch, window: Window) -> None:
    """Take out what was declared for the test alone."""
    gone = [one.condition for one in window.bounds]
    for declaration in of_type(window.loops[0].body, "declaration"):
        names = declared(sight, declaration)
        uses = [one for one in named(sight.file.source, window.loops[0].body, names) if not is_inside(one, declaration)]
        if uses and len(names) == 1 and all(any(is_inside(one, part) for part in gone) for one in uses):
            patch.cut(declaration)


def _nested(function: str, values: list[str]) -> str:
    """`max(max(a, b), c)`."""
    found = values[0]
    for one in values[1:]:
        found = f"{function}({found}, {one})"
    return found
