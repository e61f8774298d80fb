"""Writes other values for a launch's constants into the text."""

import ast
from collections.abc import Mapping

from kernelwright.micro.rewrite.triton_launch import Site
from kernelwright.values import TextEdit


def with_values(site: Site, values: Mapping[str, int]) -> str:
    """The text with each constant at its value; options that were left at their default are added to the launch."""
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
        edits.append(_insertion(site, added))
    return replaced(site.text, edits)


def replaced(text: str, edits: list[TextEdit]) -> str:
    """`text` after edits that do not overlap; equal ones count once (two constants may share a variable)."""
    for edit in sorted(set(edits), key=lambda e: e.start, reverse=True):
        text = text[: edit.start] + edit.new_text + text[edit.end :]
    return text


def _insertion(site: Site, keywords: list[str]) -> TextEdit:
    """After the last argument: on lines of their own where the launch is written one argument a line."""
    call, launcher = site.call, site.launcher
    arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    if not arguments:
        end = launcher.span(call)[1] - 1
        return TextEdit(end, end, ", ".join(keywords))
    last = max(arguments, key=lambda node: launcher.span(node)[1])
    start, end = launcher.span(last)
    line_start = site.text.rfind("\n", 0, start) + 1
    line_end = site.text.find("\n", end)
    lead = site.text[line_start:start]
    rest = site.text[end : line_end if line_end >= 0 else len(site.text)].strip()
    separator = f",\n{lead}" if not lead.strip() and rest in ("", ",") else ", "
    return TextEdit(end, end, separator + separator.join(keywords))
