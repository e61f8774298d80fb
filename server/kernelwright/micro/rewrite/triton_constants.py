"""Writes other values for a launch's constants into the text."""

import ast
from collections.abc import Iterator, Mapping

from kernelwright.micro.rewrite.triton_launch import Constant, Site
from kernelwright.micro.rewrite.triton_source import line_offset
from kernelwright.source.trees import walk
from kernelwright.values import TextEdit


def with_values(site: Site, values: Mapping[str, int]) -> str:
    """The text with each constant at its value; options that were left at their default are added to the launch."""
    return replaced(site.text, [edit for one in (site, *site.twins) for edit in value_edits(one, values)])


def value_edits(site: Site, values: Mapping[str, int]) -> list[TextEdit]:
    """What writes other values for the constants of one launch; those that are not named stay."""
    edits: list[TextEdit] = []
    added: list[str] = []
    for constant in (*site.tiles, *site.options):
        value = values.get(constant.name, constant.value)
        if value == constant.value:
            continue
        if constant.home == "absent":
            added.append(f"{constant.name}={value}")
        edits += [TextEdit(start, end, str(value)) for start, end in constant.spans]
    if added:
        edits.append(with_keywords(site, added))
    for name in unread_without(site, tuple(one for one in site.options if one.name in values)):
        edits += removals(site, name) or []
    return edits


def unread_without(site: Site, options: tuple[Constant, ...]) -> tuple[str, ...]:
    """The launcher's names that nothing but the launch reads, and there only for these options, where they are computed."""
    function = site.function
    calls = [one.call for one in (site, *site.twins) if one.function is function]
    computed = {option.name for option in options if option.value is None}
    passed = [keyword.value for call in calls for keyword in call.keywords if keyword.arg in computed]
    names = [value.id for value in passed if isinstance(value, ast.Name)]
    reads = [node.id for node in walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return tuple(sorted({name for name in names if reads.count(name) == names.count(name)}))


def removals(site: Site, name: str) -> list[TextEdit] | None:
    """What takes a name away that nothing reads; None where what sets it does more than that."""
    statements = [*set_only(site.function.body, name)]
    gone = {id(node) for statement in statements for node in walk(statement)}
    edits = [TextEdit(*_lines(site.text, one), "") for one in statements]
    for node in walk(site.function):
        if isinstance(node, ast.Assign):
            elements = [part for target in node.targets if isinstance(target, ast.Tuple) for part in target.elts]
            parts = [part for part in elements if isinstance(part, ast.Name) and part.id == name]
            edits += [TextEdit(*site.launcher.span(part), "_") for part in parts]
            gone |= {id(part) for part in parts}
    left = [
        node for node in walk(site.function) if isinstance(node, ast.Name) and node.id == name and id(node) not in gone
    ]
    whole = all(site.text[edit.start : edit.end].count("\n") >= 1 for edit in edits if not edit.new_text)
    return edits if whole and not any(isinstance(node.ctx, ast.Store) for node in left) else None


def _lines(text: str, statement: ast.stmt) -> tuple[int, int]:
    """Where the lines of a statement begin and end, with the blank line below one that stands between blank lines."""
    first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
    start, end, below = (line_offset(text, line) for line in (first, last, last + 1))
    between = not text[line_offset(text, first - 1) : start].strip() and not text[end:below].strip()
    return start, below if between else end


def set_only(body: list[ast.stmt], name: str) -> Iterator[ast.stmt]:
    """The statements that do nothing but set the name, branches of them included, where others are left beside them."""
    only = [statement for statement in body if _sets_only(statement, name)]
    if len(only) < len(body):
        yield from only
    for statement in body:
        if statement not in only and not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            for block in (getattr(statement, part, []) for part in ("body", "orelse", "finalbody")):
                yield from set_only(block, name)


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


def replaced(text: str, edits: list[TextEdit]) -> str:
    """`text` after edits that do not overlap; equal ones count once (two constants may share a variable)."""
    for edit in sorted(set(edits), key=lambda e: e.start, reverse=True):
        text = text[: edit.start] + edit.new_text + text[edit.end :]
    return text


def with_keywords(site: Site, keywords: list[str]) -> TextEdit:
    """Adds arguments after the last one of the launch."""
    call, launcher = site.call, site.launcher
    arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    if not arguments:
        end = launcher.span(call)[1] - 1
        return TextEdit(end, end, ", ".join(keywords))
    return appended(site.text, max((launcher.span(node) for node in arguments), key=lambda span: span[0]), keywords)


def appended(text: str, last: tuple[int, int], items: list[str]) -> TextEdit:
    """Adds items after the last one, on lines of their own where it has one for itself."""
    start, end = last
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    lead = text[line_start:start]
    rest = text[end : line_end if line_end >= 0 else len(text)].strip()
    separator = f",\n{lead}" if not lead.strip() and rest in ("", ",") else ", "
    return TextEdit(end, end, separator + separator.join(items))
