"""Writes other values for a launch's constants into the text."""

import ast
from collections.abc import Mapping

from kernelwright.micro.rewrite.triton_launch import Constant, Site
from kernelwright.micro.rewrite.triton_setting import lines_of, set_only, unpacked_as_nothing, without_empty_unpacking
from kernelwright.source.trees import walk
from kernelwright.values import TextEdit


def with_values(site: Site, values: Mapping[str, int]) -> str:
    """The text with each constant at its value; options that were left at their default are added to the launch."""
    return replaced(site.text, [edit for one in (site, *site.twins) for edit in value_edits(one, values)])


def value_edits(site: Site, values: Mapping[str, int]) -> list[TextEdit]:
    """What writes other values for the constants of one launch; those that are not named stay."""
    edits: list[TextEdit] = []
    added: list[str] = []
    settings: dict[tuple[int, int], list[str]] = {}
    for constant in (*site.tiles, *site.options):
        value = values.get(constant.name, constant.value)
        if value == constant.value:
            continue
        if constant.home == "absent":
            added.append(f"{constant.name}={value}")
        if constant.home == "settings":
            settings[constant.spans[0]] = [*settings.get(constant.spans[0], ()), f'"{constant.key}": {value}']
            continue
        edits += [TextEdit(*span, constant.forms.get(span, "{}").format(value)) for span in constant.spans]
        edits += constant.along
    for span, items in settings.items():
        edits.append(TextEdit(*span, f"{{**{site.text[slice(*span)]}, {', '.join(items)}}}"))
    if added:
        edits.append(with_keywords(site, added))
    for name in unread_without(site, tuple(one for one in site.options if one.name in values)):
        edits += removals(site, name) or []
    return without_empty_unpacking(site.launcher, site.function, edits)


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
    edits = [TextEdit(*lines_of(site.text, one), "") for one in statements]
    for node in walk(site.function):
        if isinstance(node, ast.Assign):
            edits += unpacked_as_nothing(site.launcher, node, name)
            elements = [part for target in node.targets if isinstance(target, ast.Tuple) for part in target.elts]
            gone |= {id(part) for part in elements if isinstance(part, ast.Name) and part.id == name}
    left = [
        node for node in walk(site.function) if isinstance(node, ast.Name) and node.id == name and id(node) not in gone
    ]
    whole = all(site.text[edit.start : edit.end].count("\n") >= 1 for edit in edits if not edit.new_text)
    return edits if whole and not any(isinstance(node.ctx, ast.Store) for node in left) else None


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
