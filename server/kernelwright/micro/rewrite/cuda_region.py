"""Statements of a CUDA text that are written again in another place: changed, and at another indentation."""

import re
import textwrap
from collections.abc import Iterable

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_grid import Geometry
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.source.cuda import File, Function, Source
from kernelwright.source.cuda.text import is_inside, of_type, walk
from kernelwright.values import Refusal

Change = tuple[int, int, str]
_NAMED = ("identifier", "type_identifier", "field_identifier", "namespace_identifier")


def region(source: Source, span: tuple[int, int], changes: Iterable[Change] = ()) -> list[str]:
    """The lines of some bytes after changes, without the indentation that they have in common."""
    text = changed(source, span, changes).rstrip()
    first, _, rest = text.partition("\n")
    if not first.strip():
        return _dedented(rest)
    return [first.strip(), *_dedented(rest)]


def _dedented(text: str) -> list[str]:
    """The lines without the blanks that all of them begin with, but for directives, which begin a line."""
    lines = text.splitlines()
    others = iter(textwrap.dedent("\n".join(line for line in lines if not line.startswith("#"))).splitlines())
    return [line if line.startswith("#") else next(others, "") for line in lines]


def changed(source: Source, span: tuple[int, int], changes: Iterable[Change]) -> str:
    """The text of some bytes after changes inside of them."""
    found, at = b"", span[0]
    for start, end, text in sorted(changes):
        found += source.source[at:start] + text.encode()
        at = end
    return (found + source.source[at : span[1]]).decode("utf-8", "replace")


def indented(lines: Iterable[str], by: str) -> list[str]:
    return [by + line if line.strip() else "" for line in lines]


def unit_of(source: Source, function: Function) -> str:
    """What one level of a function is indented by."""
    outer = indent_of(source, function.node)
    for one in function.body.named_children:
        inner = indent_of(source, one)
        if one.start_point.row > function.body.start_point.row and inner.startswith(outer) and inner != outer:
            return inner[len(outer) :]
    return "    "


def unused(file: File, function: Function, *wanted: str) -> str:
    """The first of these names that neither a function nor the top level of its file uses; numbered where all are taken."""
    taken = {file.source.content(one) for one in walk(function.node) if one.type in _NAMED}
    taken |= set(file.constants) | {one.name for one in file.functions}
    taken |= set(re.findall(r"#\s*define\s+(\w+)", file.source.text))
    numbered = (f"{wanted[0]}_{number}" for number in range(2, 1000))
    return next(name for name in (*wanted, *numbered) if name not in taken)


def regrid(patch: Patch, file: File, found: Geometry, division: Node, changes: list[Change]) -> Refusal | None:
    """Change how a launch computes its grid along x, in the name of a local too, unless others use that name."""
    launch, content = found.launch, file.source.content
    assert launch.grid is not None
    on_the_way = [name for name, value in found.definitions.items() if is_inside(division, value)]
    homes = [launch.configuration, *(value.parent or value for value in found.definitions.values())]
    shared = any(
        content(one) in on_the_way and not any(is_inside(one, home) for home in homes)
        for one in of_type(launch.function.body, "identifier")
    )
    if not shared:
        for start, end, text in changes:
            patch.between(start, end, text)
        return None
    if launch.grid.type != "identifier" or found.grid[1] is not None:
        return Refusal("Other launches use the same grid.", launch.node.start_point.row)
    patch.replace(launch.grid, changed(file.source, (division.start_byte, division.end_byte), changes))
    return None
