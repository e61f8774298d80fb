"""The two thread axes of a kernel in each other's place, so that the innermost index follows threadIdx.x."""

import re

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, other_threads, plain
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda import Launch
from kernelwright.source.cuda.accesses import Access, flat_index
from kernelwright.source.cuda.text import field, of_type
from kernelwright.values import Refusal

_OTHER = {"x": "y", "y": "x"}
_THREADS = ("threadIdx", "blockDim")
_BLOCKS = ("blockIdx", "gridDim")
_WARPS = re.compile(
    r"__\w{1,24}_sync|__syncwarp|__activemask|\bwarpSize\b|\bcooperative_groups\b|\bcg::|\basm\b|\bwmma\b"
)
_DECLARATORS = ("init_declarator", "function_declarator")  # `dim3 block(BX, BY)` parses as the latter
_TURNS = 16  # how often a loop's body is taken to run
_SECTORS = {0: 1, 1: 4}  # 32-byte sectors that a warp's 4-byte elements lie in, by their distance
_SCATTERED = 32


def swapped_axes(sight: CudaSight) -> Patch | Refusal:
    """The kernel and its launch with the thread axes swapped. The grid stays, so no size is beyond its limits now."""
    launch = sight.launch
    if isinstance(launch, Refusal):
        return launch
    if launch.block is None or len(block := sight.sizes(launch.block)) < 2:
        return Refusal("The blocks have one dimension, so there are no axes to swap.", launch.node.start_point.row)
    barrier = _stands_in_the_way(sight)
    if barrier is not None:
        return barrier
    patch, is_square = sight.patch(), _is_same(sight, *block[:2])
    moved = (*_THREADS, *_BLOCKS) if is_square and _is_square_grid(sight, launch) else _THREADS
    for node in of_type(sight.kernel.body, "field_expression"):
        argument, member = field(node, "argument"), field(node, "field")
        if argument is not None and member is not None and sight.content(argument) in moved:
            axis = sight.content(member)
            if axis in _OTHER:
                patch.replace(member, _OTHER[axis])
    return patch if is_square else _with_swapped_block(sight, launch, patch)


def renumbered(sight: CudaSight) -> Patch | Refusal:
    """The kernel alone, whose threads of a block take each other's places so that neighbours lie along y.

    Each block still has one thread for each pair of indices, whatever its sizes and whoever launches it.
    """
    blocks = [sight.line_block] if sight.is_entry else [one.block for one in sight.apart]
    if any(block is not None and len(block) < 2 for block in blocks):
        line = sight.kernel.name_node.start_point.row
        return Refusal("The blocks have one dimension, so there are no axes to swap.", line)
    barrier = _stands_in_the_way(sight)
    if barrier is not None:
        return barrier
    lane, x, y = (fresh(sight.file, *names) for names in (("lane", "thread"), ("tx", "thread_x"), ("ty", "thread_y")))
    patch, source = sight.patch(), sight.file.source
    for node in of_type(sight.kernel.body, "field_expression"):
        name = plain(source, node)
        if name in ("threadIdx.x", "threadIdx.y"):
            patch.replace(node, x if name.endswith("x") else y)
    first = next((one for one in sight.kernel.body.named_children if one.type != "comment"), None)
    indent = indent_of(source, first) if first is not None else "    "
    made = (
        "// Neighbouring threads of a warp lie along y.",
        f"const unsigned int {lane} = threadIdx.y * blockDim.x + threadIdx.x;",
        f"const unsigned int {x} = {lane} / blockDim.y, {y} = {lane} % blockDim.y;",
    )
    start = sight.kernel.body.start_byte + 1
    return patch.between(start, start, "".join(f"\n{indent}{line}" for line in made))


def traffic(sight: CudaSight, axis: str) -> int:
    """The 32-byte sectors that a warp moves where its threads lie along `axis`, loops counted."""
    return sum(_sectors(sight, one, axis) * _TURNS ** len(one.loops) for one in sight.accesses if one.space == "global")


def scattered(sight: CudaSight) -> Access | None:
    """The access that costs a warp the most now."""
    found = [one for one in sight.accesses if one.space == "global"]
    return max(found, key=lambda one: _sectors(sight, one, "x") * _TURNS ** len(one.loops), default=None)


def _sectors(sight: CudaSight, access: Access, axis: str) -> int:
    index = flat_index(sight.names, access)
    step = index.coefficient(f"threadIdx.{axis}") if index is not None else None
    return _SECTORS.get(abs(step.number), _SCATTERED) if step is not None and step.number is not None else _SCATTERED


def _stands_in_the_way(sight: CudaSight) -> Refusal | None:
    match = _WARPS.search(sight.content(sight.kernel.node))
    if match is not None:
        line = sight.kernel.node.start_point.row + sight.content(sight.kernel.node)[: match.start()].count("\n")
        return Refusal(f"`{match[0]}` relies on which threads share a warp, and the swap changes that.", line)
    call = other_threads(sight.file, sight.kernel)
    if call is not None:
        reason = f"`{sight.content(call)}` reads the thread's index itself, so the axes would have to change there too."
        return Refusal(reason, call.start_point.row)
    for node in of_type(sight.kernel.body, "identifier"):
        if sight.content(node) in (*_THREADS, *_BLOCKS) and not _is_member(node):
            reason = f"`{sight.content(node)}` is used as a whole, so its axes cannot be swapped by name."
            return Refusal(reason, node.start_point.row)
    return None


def _is_member(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "field_expression"


def _is_square_grid(sight: CudaSight, launch: Launch) -> bool:
    """Whether the grid is as wide as it is high, for blocks that are."""
    sizes = sight.sizes(launch.grid) if launch.grid is not None else ()
    return len(sizes) > 1 and _is_same(sight, *sizes[:2])


def _is_same(sight: CudaSight, one: Node, other: Node) -> bool:
    names, block = sight.names_at_launch, sight.launch
    assert not isinstance(block, Refusal)
    if names.polynomial(one) == names.polynomial(other):
        return True
    name = sight.content(block.block) if block.block is not None else ""
    return plain(sight.file.source, other).replace(f"{name}.y", f"{name}.x") == plain(sight.file.source, one)


def _with_swapped_block(sight: CudaSight, launch: Launch, patch: Patch) -> Patch | Refusal:
    """The sizes of the block swapped where they are written, and `block.x` and `block.y` wherever they are read."""
    assert launch.block is not None
    first, second = sight.sizes(launch.block)[:2]
    patch.replace(first, sight.content(second)).replace(second, sight.content(first))
    if launch.block.type != "identifier":
        return patch
    name = sight.content(launch.block)
    for node in of_type(launch.function.body, "identifier"):
        parent = node.parent
        if sight.content(node) != name or node == launch.block or parent is None or parent.type in _DECLARATORS:
            continue
        member = field(parent, "field") if parent.type == "field_expression" else None
        if member is None:
            reason = f"`{name}` is used for more than this launch, so its axes cannot be swapped."
            return Refusal(reason, node.start_point.row)
        if sight.content(member) in _OTHER:
            patch.replace(member, _OTHER[sight.content(member)])
    return patch
