"""A matrix product of one result a thread, written anew in blocks of results: what all ways to compute a block share."""

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, substituted, written
from kernelwright.micro.rewrite.cuda_guarded import type_of
from kernelwright.micro.rewrite.cuda_instance import instance, without_arguments
from kernelwright.micro.rewrite.cuda_matmul import Matmul, Side, is_zero_sum, matmul, single_store
from kernelwright.micro.rewrite.cuda_new_launch import relaunched
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_untile import untiled
from kernelwright.values import Refusal

_SCHEDULERS = 4  # of a multiprocessor, each with a warp of its own


class Block(Protocol):
    """The tile of a block and its threads. `rate`: TFLOP/s that it reaches on a whole GPU with sizes that are large."""

    @property
    def bm(self) -> int: ...
    @property
    def bn(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def rate(self) -> float: ...


AnyBlock = TypeVar("AnyBlock", bound=Block)
Body = Callable[[CudaSight, Matmul, AnyBlock], str]


@dataclass(frozen=True)
class Vector:
    """The type by which operands are loaded where they are aligned, its number of elements, and the zero beyond the edges."""

    type: str
    size: int
    zero: str


def plain_product(sight: CudaSight, elements: Sequence[str]) -> tuple[CudaSight, Matmul] | Refusal:
    """The product of a kernel, and the kernel with a plain loop over `k` where it goes through tiles or is a template.

    `elements`: the types of which the operands may be.
    """
    plain = instance(sight)
    plain_loop = untiled(plain) if not isinstance(plain, Refusal) and plain.names.shared else plain
    if isinstance(plain_loop, Refusal):
        return plain_loop
    found = matmul(plain_loop, elements)
    if isinstance(found, Refusal):
        return found if plain_loop is sight else Refusal(found.reason)
    return plain_loop, found


def in_blocks(
    sight: CudaSight,
    plain_loop: CudaSight,
    found: Matmul,
    blocks: Sequence[AnyBlock],
    body: Body[AnyBlock],
    include: str = "",
) -> tuple[tuple[AnyBlock, str], ...] | Refusal:
    """The text with the product in each kind of block, the one first that the workload's sizes speak for."""
    variants = []
    for block in _ranked(plain_loop, found, blocks):
        patch = _patched(plain_loop, found, block, body(plain_loop, found, block), include)
        if isinstance(patch, Refusal):
            return patch if plain_loop is sight else Refusal(patch.reason)
        variants.append((block, without_arguments(sight, patch.text) if sight.kernel.templates else patch.text))
    return tuple(variants)


def _ranked(sight: CudaSight, found: Matmul, blocks: Sequence[AnyBlock]) -> list[AnyBlock]:
    """By the time that the slowest multiprocessor takes, where the sizes are known."""
    rows, columns = (size_of(sight, side.extent) for side in (found.rows, found.columns))
    if rows is None or columns is None:
        return list(blocks)
    cores = sight.device.multiprocessors or 100

    def time(block: AnyBlock) -> float:
        each = math.ceil(math.ceil(rows / block.bm) * math.ceil(columns / block.bn) / cores)
        busy = min(1.0, each * block.threads / (_SCHEDULERS * 32))
        return each * block.bm * block.bn / block.rate / busy

    return sorted(blocks, key=time)


def size_of(sight: CudaSight, extent: Node) -> int | None:
    """An extent in the numbers of the performance case; None where they do not say it."""
    index = sight.names.polynomial(extent)
    values = {name: value for name in index.names if isinstance(value := sight.value(name), int)}
    return index.at(values).number


def _patched(sight: CudaSight, found: Matmul, block: Block, text: str, include: str) -> Patch | Refusal:
    patch = sight.patch()
    body = sight.kernel.body
    step = indent_of(sight.file.source, next(iter(body.named_children))) or "    "
    laid = textwrap.indent(
        text.replace("    ", step), step, lambda line: bool(line.strip()) and not line.startswith("#")
    )
    patch.between(body.start_byte, body.end_byte, f"{{\n{laid}}}")
    bounds = f"__launch_bounds__({block.threads})"
    if sight.kernel.bounds:
        node = next(one for one in sight.kernel.node.named_children if one.type == "launch_bounds")
        patch.replace(node, bounds)
    else:
        patch.before(sight.kernel.name_node, f"{bounds} ")
    if include and include not in sight.source:
        top = sight.file.source.tree.root_node.named_children
        headers = [one for one in top if one.type == "preproc_include"]
        at = headers[-1].end_byte if headers else 0
        patch.between(at, at, f"#include <{include}>\n")
    cells = {side.axis: (side.extent, size) for side, size in ((found.rows, block.bm), (found.columns, block.bn))}
    return relaunched(sight, patch, cells, str(block.threads)) or patch


def words_of(sight: CudaSight, found: Matmul, block: Block, names: Sequence[str], vector: Vector) -> Mapping[str, str]:
    """The words of a kernel's body: its own names as they are in this file, the product's, and the numbers of the block."""
    rows, columns = found.rows, found.columns
    a, b = f"{rows.access.base}s", f"{columns.access.base}s"
    tile_a, tile_b = (fresh(sight.file, one, f"{one}_tile") for one in (a, b if b != a else f"{b}2"))
    count = sight.content(found.loop.count)
    return {
        **{name: fresh(sight.file, name, f"{name}_", f"block_{name}") for name in names},
        "row": rows.name,
        "col": columns.name,
        "k": found.loop.loop.variable,
        "count": count,
        "kind": _type(sight, found),
        "tile_a": tile_a,
        "tile_b": tile_b,
        "row_axis": rows.axis,
        "col_axis": columns.axis,
        "row_type": rows.type,
        "col_type": columns.type,
        "a_aligned_if": _aligned(sight, rows, count, vector),
        "b_aligned_if": _aligned(sight, columns, count, vector),
        "vec": vector.type,
        "size": str(vector.size),
        "zero": vector.zero,
        **{f"{name}_is": str(value) for name, value in vars(block).items()},
    }


def kept(sight: CudaSight, found: Matmul) -> str:
    """The declarations of the kernel that stay ahead of the product."""
    return "".join(f"{sight.content(one)}\n" for one in found.kept)


def _type(sight: CudaSight, found: Matmul) -> str:
    declared = found.loop.loop.node.child_by_field_name("initializer")
    kind = declared.child_by_field_name("type") if declared is not None else None
    return sight.content(kind) if kind is not None else "int"


def _aligned(sight: CudaSight, side: Side, count: str, vector: Vector) -> str:
    """When a whole vector of an operand can be loaded at once: all rows begin on 16 bytes, and end on them."""
    base, stride = side.access.base, written(side.stride)
    first = f"{base} + {written(side.first)}" if side.first.terms else base
    lengths = dict.fromkeys(
        (_in_parentheses(stride), _in_parentheses(count if side.along_k else sight.content(side.extent)))
    )
    rows = (f"{one} % {vector.size} == 0" for one in lengths)
    return " && ".join([f"reinterpret_cast<size_t>({first}) % 16 == 0", *rows])


def _in_parentheses(code: str) -> str:
    return code if code.isidentifier() else f"({code})"


def fetched(sight: CudaSight, side: Side, which: str, words: Mapping[str, str]) -> str:
    """A vector of a tile on its way into registers. `which`: "a" for the rows' operand, "b" for the columns'."""
    words = {**words, **operand(side, which, words)}
    k, j, name = words["k"], words["j"], side.name
    beside, outer = (k, name) if side.along_k else (name, k)
    types, starts = (
        {k: words["kind"], name: side.type},
        {k: words["k0"], name: words["row0" if which == "a" else "col0"]},
    )
    limits = {name: sight.content(side.extent), k: words["count"]}
    words |= {
        "outer": f"const {types[outer]} {outer} = {starts[outer]}",
        "beside": f"const {types[beside]} {beside} = {starts[beside]}",
        "condition": " && ".join(f"{one} < {limit}" for one, limit in limits.items()),
        "moved": " && ".join(f"{f'{one} + {j}' if one == beside else one} < {limit}" for one, limit in limits.items()),
        "element": sight.content(side.access.node),
        "next_element": substituted(sight.file.source, side.access.node, {beside: f"{beside} + {j}"}),
        "aligned": words[f"{which}_aligned"],
    }
    return _FETCH.format(**words)


def operand(side: Side, which: str, words: Mapping[str, str]) -> dict[str, str]:
    """How wide the rows of a tile are in memory, and what the operand's names are."""
    wide = words["BK"] if side.along_k else words["BM" if which == "a" else "BN"]
    names = {"WIDE": wide, "LOADS": words[f"LOADS_{which.upper()}"], "edge": words["m" if which == "a" else "n"]}
    return names | {"tile": words[f"tile_{which}"], "next": words[f"{which}_next"]}


def guarded(sight: CudaSight, found: Matmul, element: str) -> str:
    """What is done with each sum, which is now an element: the kernel's own statements, under its own bounds."""
    source = sight.file.source
    bounds = " && ".join(bound.code(source, {}) for bound in found.loop.bounds)
    store = single_store(sight, found)
    if store is not None:
        lines = [substituted(source, store, {found.sum: element})]
    else:
        lines = list(_statements(sight, found, element))
    inner = "\n".join(lines)
    if len(lines) == 1 and "\n" not in inner:
        return f"if ({bounds}) {inner}"
    return f"if ({bounds}) {{\n{textwrap.indent(inner, '    ')}\n}}"


def _statements(sight: CudaSight, found: Matmul, element: str) -> Iterator[str]:
    added = False
    for one in found.epilogue:
        if one in found.loop.after and not added:
            added = True
            yield f"{found.sum} += {element};"
        if is_zero_sum(sight, one, found.sum):
            added = True
            yield f"{type_of(sight, found.sum)} {found.sum} = {element};"
        else:
            yield _dedented(sight, one)


def _dedented(sight: CudaSight, node: Node) -> str:
    return textwrap.dedent(indent_of(sight.file.source, node) + sight.content(node))


_FETCH = """\
#pragma unroll
    for (int {i} = 0; {i} < {LOADS}; ++{i}) {{
        {outer} + ({tid} + {i} * {THREADS}) / ({WIDE} / {size});
        {beside} + ({tid} + {i} * {THREADS}) % ({WIDE} / {size}) * {size};
        if ({aligned}) {{
            const bool {inside} = {condition};
            *reinterpret_cast<{vec}*>({next}[{i}]) = {inside} ? *reinterpret_cast<const {vec}*>(&{element}) : {vec}{{}};
        }} else {{
#pragma unroll
            for (int {j} = 0; {j} < {size}; ++{j}) {next}[{i}][{j}] = {moved} ? {next_element} : {zero};
        }}
    }}
"""
