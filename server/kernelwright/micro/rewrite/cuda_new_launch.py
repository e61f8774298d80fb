"""A launch with another block and grid, which still cover as many rows and columns as before."""

import re
from collections.abc import Mapping

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import named, plain, substituted
from kernelwright.micro.rewrite.cuda_patch import Patch
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda import Launch
from kernelwright.source.cuda.text import field, of_type
from kernelwright.values import Refusal

_AXES = ("x", "y")


def relaunched(sight: CudaSight, patch: Patch, cells: Mapping[str, tuple[Node, int]], threads: str) -> Refusal | None:
    """Write the launch anew: along each axis the extent in the kernel's names, and how much of it a block takes.

    `threads`: the sizes of the block as code.
    """
    launch = sight.launch
    if isinstance(launch, Refusal):
        return launch
    line = launch.node.start_point.row
    if launch.grid is None or launch.block is None:
        return Refusal("The launch has no grid or block.", line)
    old = sight.sizes(launch.grid)
    sizes = []
    for place, axis in enumerate(_AXES):
        extent, size = cells[axis]
        count = _at_launch(sight, extent)
        if count is None or place >= len(old) or not _covers(sight, old[place], count):
            reason = f"The grid does not say in its {axis} that it goes as far as the guard, `{sight.content(extent)}`."
            return Refusal(reason, line)
        whole = count if count.isidentifier() else f"({count})"
        sizes.append(f"({whole} + {size - 1}) / {size}")
    sizes += [sight.content(one) for one in old[2:]]
    _put(sight, patch, launch, launch.grid, ", ".join(sizes))
    _put(sight, patch, launch, launch.block, threads)
    return None


def regridded(sight: CudaSight, patch: Patch, extent: Node, each: int) -> Refusal | None:
    """Write the grid of a launch with one dimension anew, for blocks that take `each` of so many rows."""
    launch = sight.launch
    if isinstance(launch, Refusal):
        return launch
    line, grid = launch.node.start_point.row, launch.grid
    count = _at_launch(sight, extent)
    sizes = sight.sizes(grid) if grid is not None else ()
    if grid is None or count is None or len(sizes) != 1 or not _covers(sight, sizes[0], count):
        return Refusal(f"The grid does not say that it goes as far as the guard, `{sight.content(extent)}`.", line)
    whole = count if count.isidentifier() else f"({count})"
    written = count if each == 1 else f"({whole} + {each - 1}) / {each}"
    values = sight.names_at_launch.values
    name = sight.content(sizes[0])
    uses = list(named(sight.file.source, launch.function.body, frozenset({name})))
    if name in values and len(uses) == 2:
        patch.replace(values[name], written)
    else:
        patch.replace(sizes[0], written)
    return None


def _at_launch(sight: CudaSight, extent: Node) -> str | None:
    """An expression of the kernel's parameters in what the launch passes for them."""
    meanings = {}
    for name in sight.names.polynomial(extent).names:
        argument = sight.argument(name)
        if argument is None:
            return None
        meanings[name] = sight.content(argument)
    if (
        not {sight.content(one) for one in of_type(extent, "identifier")}
        <= meanings.keys() | sight.file.constants.keys()
    ):
        return None
    return substituted(sight.file.source, extent, meanings)


def _covers(sight: CudaSight, size: Node, count: str) -> bool:
    """Whether a size of the grid is a count divided into blocks and rounded up, as far as its text says."""
    code = plain(sight.file.source, _meant(sight, size))
    written = re.escape(re.sub(r"\s+", "", count))
    whole = rf"(?<![\w.]){written}(?!\w)"
    return re.search(whole, code) is not None and ("/" in code or "(" in code)


def _meant(sight: CudaSight, node: Node) -> Node:
    return sight.names_at_launch.values.get(sight.content(node), node)


def _put(sight: CudaSight, patch: Patch, launch: Launch, node: Node, sizes: str) -> None:
    """The sizes where they are written: in the declaration of their `dim3` where it serves this launch alone."""
    declared = _declaration(sight, launch, node)
    inline = sizes if "," not in sizes else f"dim3({sizes})"
    if declared is None:
        patch.replace(node, inline)
        return
    value = field(declared, "value") or field(declared, "parameters")
    assert value is not None
    if value.type in ("argument_list", "initializer_list", "parameter_list"):
        opening = "{" if value.type == "initializer_list" else "("
        patch.replace(value, f"{opening}{sizes}{'}' if opening == '{' else ')'}")
    else:
        patch.replace(value, f"dim3({sizes})")


def _declaration(sight: CudaSight, launch: Launch, node: Node) -> Node | None:
    """The declaration of the `dim3` that a node names, where nothing else but sizes written anew reads it."""
    if node.type != "identifier":
        return None
    name = sight.content(node)
    uses = list(named(sight.file.source, launch.function.body, frozenset({name})))
    found = [one for one in of_type(launch.function.body, "init_declarator", "function_declarator")
             if (inner := field(one, "declarator")) is not None and sight.content(inner) == name]  # fmt: skip
    if len(found) != 1 or not _is_dim3(sight, found[0]):
        return None
    read = [one for one in uses if one != node and one != field(found[0], "declarator")]
    grid = _grid_declaration(sight, launch)
    return found[0] if all(grid is not None and _inside(one, grid) for one in read) else None


def _grid_declaration(sight: CudaSight, launch: Launch) -> Node | None:
    """The declaration of the grid, in which the block's sizes are read until it is written anew."""
    grid = launch.grid
    if grid is None or grid.type != "identifier":
        return grid
    for one in of_type(launch.function.body, "init_declarator", "function_declarator"):
        inner = field(one, "declarator")
        if inner is not None and sight.content(inner) == sight.content(grid):
            return one
    return None


def _inside(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def _is_dim3(sight: CudaSight, declarator: Node) -> bool:
    kind = field(declarator.parent, "type") if declarator.parent is not None else None
    return kind is not None and sight.content(kind) == "dim3"
