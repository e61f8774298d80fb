"""Reorders the programs of a Triton product so that those which run together read the same rows and columns of the operands."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.micro.rewrite.triton_constants import replaced
from kernelwright.micro.rewrite.triton_flag import constexpr_kind, parameters_added
from kernelwright.micro.rewrite.triton_launch import Site
from kernelwright.micro.rewrite.triton_source import Fragment, free_name, names_in
from kernelwright.micro.rewrite.triton_space import has_dot
from kernelwright.source.bindings import Binding, bindings_of
from kernelwright.source.calls import argument, dotted
from kernelwright.source.trees import walk
from kernelwright.source.triton.reader import CDIV, asks_for_program
from kernelwright.values import Refusal, TextEdit

_WIDTH = 100
_NO_TILES = "The kernel's tiles do not follow two program ids, nor one that is divided by the tiles of a row."


@dataclass(frozen=True)
class Tiles:
    """The coordinates of a program's tile by name, and how many tiles there are along each, as the kernel can say it.

    `order`: the place of the program among those of its plane, in order of their launch, and after which statement it is known.
    """

    first: str
    second: str
    firsts: str
    seconds: str
    order: str
    last: ast.stmt


def tiles_of(site: Site) -> Tiles | Refusal:
    """The tiles of a kernel with `tl.dot`, or why their order cannot be changed."""
    kernel = site.kernel
    line = kernel.function.lineno - 1
    if not has_dot(site):
        return Refusal("The kernel has no tl.dot, so its programs share no operands that caches could keep.", line=line)
    reading = kernel.reading
    ids = [node for node in reading.nodes if isinstance(node, ast.Call) and asks_for_program(node)]
    if any(name == "num_programs" for name, _ in reading.calls):
        return Refusal("The kernel asks for the number of its programs, so they may take turns.", line=line)
    if _is_grouped(kernel):
        return Refusal("The kernel's programs go through its tiles in groups already.", line=line)
    found = _of_two_ids(kernel, ids) or _of_one_id(site, ids)
    if found is None:
        return Refusal(_NO_TILES, line=line)
    if kernel.function.args.vararg is not None or kernel.function.args.kwarg is not None:
        return Refusal("The kernel takes parameters by a star, so none can be added.", line=line)
    other = next((node for name in (found.first, found.second) for node in _other_uses(kernel, name, found.last)), None)
    if other is not None:
        words = f"{other.id} is used for more than the place of a tile (line {other.lineno})."
        return Refusal(words, line=other.lineno - 1)
    return found


def with_groups(site: Site, tiles: Tiles, size: int) -> str:
    """The text with `size` tiles of the first coordinate side by side, and programs that go through them in turn."""
    kernel = site.kernel
    taken = names_in(kernel.function)
    group = free_name("GROUP", taken)
    tl = _language(kernel)
    place = tiles.order if tiles.order.isidentifier() else free_name("tile", taken)
    pad = " " * tiles.last.col_offset
    lines = [] if place == tiles.order else [f"{place} = {tiles.order}"]
    arguments = f"{place} // {tiles.seconds}, {place} % {tiles.seconds}, {tiles.firsts}, {tiles.seconds}, {group}"
    call = f"{tiles.first}, {tiles.second} = {tl}.swizzle2d("
    short = len(pad + call + arguments) < _WIDTH
    lines += [f"{call}{arguments})"] if short else [call, f"    {arguments}", ")"]
    end = kernel.span(tiles.last)[1]
    line_end = kernel.text.find("\n", end)
    at = line_end if line_end >= 0 else len(kernel.text)
    edits = [TextEdit(at, at, "".join(f"\n{pad}{line}" for line in lines))]
    return replaced(kernel.text, [*edits, parameters_added(kernel, [f"{group}: {constexpr_kind(kernel)} = {size}"])])


def _is_grouped(kernel: Fragment) -> bool:
    """Whether a coordinate is the rest of the program id in a group of rows, that ends with the tiles: `id % min(…, GROUP)`."""
    least = {
        one.name
        for one in bindings_of(kernel.function)
        if isinstance(one.value, ast.Call) and dotted(one.value.func).rpartition(".")[2] in ("min", "minimum")
    }
    rests = (node.right for node in kernel.nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod))
    swizzled = any(name == "swizzle2d" for name, _ in kernel.reading.calls)
    return swizzled or any(isinstance(right, ast.Name) and right.id in least for right in rests)


def _of_two_ids(kernel: Fragment, ids: list[ast.Call]) -> Tiles | None:
    """Of `m = tl.program_id(0)` and `n = tl.program_id(1)`, each asked for once."""
    names: list[str] = []
    nodes: list[ast.stmt] = []
    for axis in (0, 1):
        own = [call for call in ids if _axis(call) == axis]
        found = [one for one in bindings_of(kernel.function) if one.value in own]
        if len(own) != 1 or len(found) != 1 or not _is_set_once(kernel, found[0]):
            return None
        assert isinstance(found[0].node, ast.stmt)
        names.append(found[0].name)
        nodes.append(found[0].node)
    if any(_axis(call) is None for call in ids):
        return None
    tl = _language(kernel)
    first, second = names
    firsts, seconds = (f"{tl}.num_programs({axis})" for axis in (0, 1))
    last = max(nodes, key=lambda node: node.lineno)
    return Tiles(first, second, firsts, seconds, f"{second} * {firsts} + {first}", last) if tl else None


def _of_one_id(site: Site, ids: list[ast.Call]) -> Tiles | None:
    """Of `m = id // columns` and `n = id % columns`, where the grid has as many programs as there are tiles."""
    kernel = site.kernel
    own = [call for call in ids if _axis(call) == 0]
    sets = bindings_of(kernel.function)
    named = [one for one in sets if one.value in own]
    if named:
        reads = (n for n in kernel.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        asked: list[ast.expr] = [node for node in reads if node.id == named[0].name]
        if len(own) != 1 or len(named) != 1 or not _is_set_once(kernel, named[0]):
            return None
    else:
        asked = [*own]
    rows, columns = ([one for one in sets if _divides(one.value, op, asked)] for op in (ast.FloorDiv, ast.Mod))
    if len(rows) != 1 or len(columns) != 1 or not all(_is_set_once(kernel, one) for one in (*rows, *columns)):
        return None
    row, column = rows[0], columns[0]
    assert isinstance(row.value, ast.BinOp)
    assert isinstance(column.value, ast.BinOp)
    if ast.dump(row.value.right) != ast.dump(column.value.right):
        return None
    if len(asked) != 2 or not _is_of_tiles(site, row.value.right):
        return None
    tl = _language(kernel)
    width = kernel.source(row.value.right)
    words = width if isinstance(row.value.right, ast.Name | ast.Call) else f"({width})"
    assert isinstance(row.node, ast.stmt)
    assert isinstance(column.node, ast.stmt)
    last = max((row.node, column.node), key=lambda node: node.lineno)
    count = f"{tl}.num_programs(0) // {words}"
    order = named[0].name if named else kernel.source(own[0])
    return Tiles(row.name, column.name, count, words, order, last) if tl else None


def _is_of_tiles(site: Site, width: ast.expr) -> bool:
    """Whether the grid's first side is a product with the number that the kernel divides its id by."""
    kernel = site.kernel
    if isinstance(width, ast.Name):
        values = [one.value for one in bindings_of(kernel.function) if one.name == width.id]
        width = values[0] if len(values) == 1 else width
    if not isinstance(width, ast.Call) or kernel.reading.canonical(width) not in CDIV or len(width.args) != 2:
        return False
    grid = site.grid.body if isinstance(site.grid, ast.Lambda) else site.grid
    side = grid.elts[0] if isinstance(grid, ast.Tuple | ast.List) and grid.elts else None
    if not isinstance(side, ast.BinOp) or not isinstance(side.op, ast.Mult):
        return False
    return any(_is_same_count(site, width, factor) for factor in (side.left, side.right))


def _is_same_count(site: Site, width: ast.Call, factor: ast.expr) -> bool:
    """Whether the launcher's `cdiv(N, BLOCK)` is the kernel's."""
    if not isinstance(factor, ast.Call) or site.launcher.called(factor) not in CDIV or len(factor.args) != 2:
        return False
    for inside, outside in zip(width.args, factor.args, strict=True):
        if not isinstance(inside, ast.Name):
            return False
        passed = site.bound.get(inside.id)
        asked = isinstance(outside, ast.Subscript) and isinstance(outside.slice, ast.Constant)
        if asked and isinstance(outside, ast.Subscript) and isinstance(outside.slice, ast.Constant):
            if outside.slice.value != inside.id:
                return False
        elif passed is None or ast.dump(passed) != ast.dump(outside):
            return False
    return True


def _language(kernel: Fragment) -> str:
    """How the file writes triton.language; empty where it imports its functions alone."""
    return kernel.aliases.spelled("triton.language") or ""


def _divides(value: ast.expr, op: type[ast.operator], asked: Sequence[ast.expr]) -> bool:
    return isinstance(value, ast.BinOp) and value.left in asked and isinstance(value.op, op)


def _axis(call: ast.Call) -> int | None:
    axis = argument(call, 0, "axis")
    return axis.value if isinstance(axis, ast.Constant) and isinstance(axis.value, int) else None


def _is_set_once(kernel: Fragment, one: Binding) -> bool:
    """Whether the name is set by a statement of the kernel's own body, and by no other."""
    several = sum(two.name == one.name for two in bindings_of(kernel.function)) != 1
    return not several and isinstance(one.node, ast.Assign) and one.node in kernel.function.body


def _other_uses(kernel: Fragment, name: str, since: ast.stmt) -> list[ast.Name]:
    """Where the name is read but to be multiplied by a block size, or before both coordinates are known."""
    blocks = kernel.reading.block_sizes
    fine = {
        side
        for node in walk(kernel.function)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
        for side, other in ((node.left, node.right), (node.right, node.left))
        if isinstance(other, ast.Name) and other.id in blocks and node.lineno > since.lineno
    }
    reads = [n for n in kernel.nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    return [node for node in reads if node not in fine]
