"""Kernels in square blocks: how wide these are, what the threads are called, and whose work a thread can do instead."""

import re
from collections.abc import Iterable, Mapping

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, named, plain, substituted
from kernelwright.micro.rewrite.cuda_guarded import X, Y, declared, type_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.text import field, of_type
from kernelwright.values import Refusal

OTHER = {X: Y, Y: X}
_SIZES = (8, 16, 32)


def square_block(sight: CudaSight) -> tuple[str, str] | Refusal:
    """The edge of the square block as a name, and the line that declares it where the file does not."""
    launch = sight.launch
    if isinstance(launch, Refusal) and not sight.assumes_line_block:
        return launch
    node = sight.kernel.name_node if isinstance(launch, Refusal) else launch.node
    line, block = node.start_point.row, sight.block
    if block is None:
        return Refusal("The size of the blocks is no number in this file, so a tile of their size is not known.", line)
    if len(block) < 2 or block[0] != block[1] or block[0] not in _SIZES or block[2:] not in ((), (1,)):
        shape = " x ".join(map(str, block))
        return Refusal(f"The blocks are {shape}; tiles need square ones of 8, 16 or 32 threads a side.", line)
    told = None if isinstance(launch, Refusal) or launch.block is None else sight.sizes(launch.block)[0]
    written = sight.content(told) if told is not None and not sight.assumes_line_block else ""
    if written in sight.file.constants and _is_above(sight, written):
        return written, ""
    name = fresh(sight.file, "TILE", "TILE_SIZE", "TILE_EDGE")
    return name, f"constexpr int {name} = {block[0]};  // as the blocks at the launch\n"


def thread_names(sight: CudaSight) -> dict[str, str]:
    """The kernel's own signed names of its threads' indices, or new ones."""
    found = {X: fresh(sight.file, "tx", "thread_x"), Y: fresh(sight.file, "ty", "thread_y")}
    for node in of_type(sight.kernel.body, "declaration"):
        kind = field(node, "type")
        for name in declared(sight, node) & sight.names.values.keys():
            index = plain(sight.file.source, sight.names.values[name])
            if index in found and kind is not None and sight.content(kind) == "int":
                found[index] = name
    return found


def new_threads(sight: CudaSight) -> list[str]:
    """The declaration of the names that the kernel does not have yet."""
    new = [f"{name} = {index}" for index, name in thread_names(sight).items() if name not in sight.names.values]
    return [f"const int {', '.join(new)};"] if new else []


def turned_names(sight: CudaSight, subscript: Node, axis: str) -> dict[str, Node] | None:
    """The locals of the index that are made of the thread's index directly; None where another local stands between."""
    name, found = f"threadIdx.{axis}", {}
    direct = frozenset({name, thread_names(sight)[name]})
    for one in of_type(subscript, "identifier"):
        value = sight.names.values.get(sight.content(one))
        if value is None or name not in sight.names.behind(value):
            continue
        is_base = one.parent is not None and field(one.parent, "argument") == one
        if is_base or next(named(sight.file.source, value, direct), None) is None:
            return None
        found[sight.content(one)] = value
    return found


def loaders(sight: CudaSight, names: Mapping[str, Node], axes: Iterable[str], prefix: str = "load") -> list[str]:
    """The declarations of what `names` are for the thread whose index along these axes is this one's along the other."""
    threads = thread_names(sight)
    swapped = {one: threads[OTHER[own]] for own in axes for one in (own, threads[own])}
    found = []
    for name, value in names.items():
        kind, code = type_of(sight, name) or "int", substituted(sight.file.source, value, swapped)
        found += [f"const {kind} {loader_name(sight, name, prefix)} = {code};"] if name not in swapped else []
    return found


def loader_name(sight: CudaSight, name: str, prefix: str = "load") -> str:
    """What the row or column of the element that a thread loads is called, where it is not the thread's own."""
    return fresh(sight.file, f"{prefix}_{name}", f"{name}_to_{prefix}")


def _is_above(sight: CudaSight, name: str) -> bool:
    """Whether a constant is known where the kernel begins."""
    ahead = sight.file.source.source[: sight.kernel.outer.start_byte].decode("utf-8", "replace")
    return re.search(rf"\b{re.escape(name)}\b", ahead) is not None
