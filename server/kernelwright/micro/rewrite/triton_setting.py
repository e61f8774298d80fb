"""The statements of a launcher that set a name, and where a number can stand in for what they compute."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from kernelwright.micro.rewrite.triton_source import Fragment, line_offset, names_read
from kernelwright.source.bindings import Binding, bindings_of
from kernelwright.source.document import parse
from kernelwright.source.parsed import syntax
from kernelwright.source.trees import walk
from kernelwright.values import TextEdit

Span = tuple[int, int]


@dataclass(frozen=True)
class Place:
    """Where a number is written for a name that is computed: over these spans, in the form that each has.

    `along` is what goes with that, whatever the number.
    """

    line: int  # from 0
    spans: tuple[Span, ...]
    forms: Mapping[Span, str] = field(default_factory=dict)  # "BLOCK = {}", where it is more than the number
    along: tuple[TextEdit, ...] = ()


def place_of(launcher: Fragment, function: ast.FunctionDef, variable: str, constants: frozenset[str]) -> Place | str:
    """The place of a number for a local name, or words for what computes it instead.

    `constants` are the names that hold block sizes or options of the launch: none of them follows another.
    """
    given = [one for one in bindings_of(function) if one.name == variable]
    blocks = [*_settings(launcher, function.body, variable)]
    own = {id(node) for block in blocks for statement in block for node in walk(statement)}
    in_steps = f"in several steps (line {given[0].value.lineno})"
    if len(given) > 1 and any(variable in names_read(test) for test in _tests(function)):
        return in_steps  # such as one that must be at least as large as something
    spans: list[Span] = []
    forms: dict[Span, str] = {}
    along: list[TextEdit] = []
    for first, *later in blocks:
        if isinstance(first, ast.Assign | ast.AnnAssign) and first.value is not None:
            spans.append(launcher.span(first.value))
        else:
            spans.append(launcher.span(first))
            forms[spans[-1]] = f"{variable} = {{}}"
        if not all(is_alone(launcher, statement) for statement in later):
            return in_steps
        along += [TextEdit(*lines_of(launcher.text, statement), "") for statement in later]
    for one in given:
        if id(one.node) in own:
            continue
        if not is_unpacking(one.node):
            return in_steps
        if one.value in walk(one.node.value):
            spans.append(launcher.span(one.value))
            continue
        other = _may_follow(launcher, function, one, constants)
        if other or not is_alone(launcher, one.node):
            return f"together with {other or 'others'} (line {one.node.lineno})"
        at = line_offset(launcher.text, one.node.end_lineno or one.node.lineno)
        spans.append((at, at))
        forms[at, at] = f"{' ' * one.node.col_offset}{variable} = {{}}\n"
        along += unpacked_as_nothing(launcher, one.node, variable)
    return Place(given[0].value.lineno - 1, tuple(spans), forms, tuple(along))


def set_only(body: list[ast.stmt], name: str) -> Iterator[ast.stmt]:
    """The statements that do nothing but set the name, branches of them included, where others are left beside them."""
    only = [statement for statement in body if _sets_only(statement, name)]
    if len(only) < len(body):
        yield from only
    for block in _blocks_inside(body, only):
        yield from set_only(block, name)


def is_unpacking(node: ast.AST) -> TypeGuard[ast.Assign]:
    """Whether a statement gives the parts of one value to several names."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=parts)]):
            return all(isinstance(part, ast.Name) for part in parts)
    return False


def unpacked_as_nothing(launcher: Fragment, statement: ast.Assign, name: str) -> list[TextEdit]:
    """What has a statement unpack a value into `_` in the place of the name."""
    elements = [part for target in statement.targets if isinstance(target, ast.Tuple) for part in target.elts]
    own = (part for part in elements if isinstance(part, ast.Name) and part.id == name)
    return [TextEdit(*launcher.span(part), "_") for part in own]


def without_empty_unpacking(launcher: Fragment, function: ast.FunctionDef, edits: list[TextEdit]) -> list[TextEdit]:
    """The edits with each statement taken away of which they leave no name."""
    gone = {(edit.start, edit.end) for edit in edits if edit.new_text == "_"}
    for node in walk(function):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=parts)]) if gone and is_alone(launcher, node):
                spans = [launcher.span(part) for part in parts]
                if all(span in gone or launcher.source(part) == "_" for part, span in zip(parts, spans, strict=True)):
                    start, end = (
                        line_offset(launcher.text, n) for n in (node.lineno - 1, node.end_lineno or node.lineno)
                    )
                    edits = [edit for edit in edits if (edit.start, edit.end) not in spans]
                    edits.append(TextEdit(start, end, ""))
    return edits


def lines_of(text: str, statement: ast.stmt) -> Span:
    """Where the lines of a statement begin and end, with the blank line below one that stands between blank lines."""
    first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
    start, end, below = (line_offset(text, line) for line in (first, last, last + 1))
    between = not text[line_offset(text, first - 1) : start].strip() and not text[end:below].strip()
    return start, below if between else end


def is_alone(launcher: Fragment, statement: ast.stmt) -> bool:
    """Whether nothing else stands on the lines of a statement but a comment."""
    start, end = launcher.span(statement)
    first = line_offset(launcher.text, statement.lineno - 1)
    last = line_offset(launcher.text, statement.end_lineno or statement.lineno)
    before, after = launcher.text[first:start], launcher.text[end:last]
    return not before.strip() and after.strip()[:1] in ("", "#")


def _settings(launcher: Fragment, body: list[ast.stmt], name: str) -> Iterator[list[ast.stmt]]:
    """Of each block those statements that do nothing but set the name."""
    only = [one for one in body if _sets_only(one, name) and not launcher.source(one).startswith("elif")]
    if only:
        yield only
    for block in _blocks_inside(body, only):
        yield from _settings(launcher, block, name)


def _blocks_inside(body: list[ast.stmt], but: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    for statement in body:
        if statement not in but and not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield from (getattr(statement, part, []) for part in ("body", "orelse", "finalbody"))


def _sets_only(statement: ast.stmt, name: str) -> bool:
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id=target)])
            | ast.AnnAssign(target=ast.Name(id=target))
            | ast.AugAssign(target=ast.Name(id=target))
        ):
            return target == name
        case ast.If(body=body, orelse=orelse):
            return all(_sets_only(one, name) for one in (*body, *orelse))
    return False


def _tests(function: ast.FunctionDef) -> list[ast.expr]:
    return [node.test for node in walk(function) if isinstance(node, ast.If | ast.IfExp | ast.While)]


def _may_follow(launcher: Fragment, function: ast.FunctionDef, given: Binding, constants: frozenset[str]) -> str:
    """A name that is unpacked together with a constant, is no constant itself, and may be computed from it; "" for none."""
    assert isinstance(given.node, ast.Assign)
    assert isinstance(given.node.targets[0], ast.Tuple)
    names = [part.id for part in given.node.targets[0].elts if isinstance(part, ast.Name)]
    read = {node.id for node in walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    own = names.index(given.name)
    others = [index for index, name in enumerate(names) if name in read - constants and index != own]
    if not others:
        return ""
    helper = _helper(launcher.text, given.node.value)
    returned = [node.value for node in walk(helper) if isinstance(node, ast.Return)] if helper is not None else [None]
    for value in returned:
        if helper is None or not isinstance(value, ast.Tuple) or len(value.elts) != len(names):
            return names[others[0]]
        for index in others:
            if _reads(helper, value.elts[index], value.elts[own]):
                return names[index]
    return ""


def _helper(text: str, value: ast.expr) -> ast.FunctionDef | None:
    """The function of the file that a value is a call of."""
    match value:
        case ast.Call(func=ast.Name(id=name)):
            trees = (syntax(piece.text) for piece in parse(text).pieces if name in piece.text)
            nodes = (node for tree in trees if tree is not None for node in tree.body)
            return next((node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == name), None)
    return None


def _reads(function: ast.FunctionDef, value: ast.expr, part: ast.expr) -> bool:
    """Whether a value is computed from what another expression stands for."""
    if isinstance(part, ast.Constant):
        return False
    wanted = ast.dump(part)
    waiting, seen = [value], set[str]()
    while waiting:
        nodes = walk(waiting.pop())
        if any(ast.dump(node) == wanted for node in nodes if isinstance(node, ast.expr)):
            return True
        names = {node.id for node in nodes if isinstance(node, ast.Name)} - seen
        seen |= names
        waiting += [one.value for one in bindings_of(function) if one.name in names]
    return False
