"""A matrix product in which each thread keeps a block of results in registers, fed from tiles that the next ones follow."""

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

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

_NAMES = (
    *("BM", "BN", "BK", "TM", "TN", "THREADS", "LOADS_A", "LOADS_B", "WARPS_N", "tid", "lane", "warp", "row0", "col0"),
    *("tile_row", "tile_col", "a_aligned", "b_aligned", "a_next", "b_next", "acc", "fetch", "stage", "at"),
    *("a", "b", "i", "j", "k0", "m", "n", "inside"),
)
_SCHEDULERS = 4  # of a multiprocessor, each with a warp of its own


@dataclass(frozen=True)
class Shape:
    """The tile of a block and the part of it that a thread computes. `rate`: TFLOP/s of full H200s at 4096 x 4096 x 4096."""

    bm: int
    bn: int
    bk: int
    tm: int
    tn: int
    rate: float

    @property
    def threads(self) -> int:
        return self.bm // self.tm * (self.bn // self.tn)

    def __str__(self) -> str:
        return f"{self.bm} x {self.bn} x {self.bk}, {self.tm} x {self.tn} a thread"


SHAPES = (
    Shape(128, 128, 16, 8, 16, 46.5),
    Shape(128, 256, 8, 8, 16, 45.5),
    Shape(128, 128, 16, 8, 8, 43.5),
    Shape(128, 128, 8, 8, 8, 43.3),
    Shape(128, 64, 16, 8, 8, 41.8),
    Shape(64, 64, 16, 8, 8, 42.3),
    Shape(64, 64, 16, 4, 4, 32.3),
    Shape(32, 64, 16, 4, 4, 31.3),
)


def blocked(sight: CudaSight) -> tuple[Matmul, tuple[tuple[Shape, str], ...]] | Refusal:
    """The text with the product in each shape, the one first that the workload's sizes speak for."""
    plain = instance(sight)
    plain_loop = untiled(plain) if not isinstance(plain, Refusal) and plain.names.shared else plain
    if isinstance(plain_loop, Refusal):
        return plain_loop
    found = matmul(plain_loop)
    if isinstance(found, Refusal):
        return found if plain_loop is sight else Refusal(found.reason)
    variants = []
    for shape in _ranked(plain_loop, found):
        patch = _patched(plain_loop, found, shape)
        if isinstance(patch, Refusal):
            return patch if plain_loop is sight else Refusal(patch.reason)
        variants.append((shape, without_arguments(sight, patch.text) if sight.kernel.templates else patch.text))
    return found, tuple(variants)


def _ranked(sight: CudaSight, found: Matmul) -> list[Shape]:
    """By the time that the slowest multiprocessor takes, where the sizes are known."""
    rows, columns = (_size(sight, side.extent) for side in (found.rows, found.columns))
    if rows is None or columns is None:
        return list(SHAPES)
    cores = sight.device.multiprocessors or 100

    def time(shape: Shape) -> float:
        blocks = math.ceil(math.ceil(rows / shape.bm) * math.ceil(columns / shape.bn) / cores)
        busy = min(1.0, blocks * shape.threads / (_SCHEDULERS * 32))
        return blocks * shape.bm * shape.bn / shape.rate / busy

    return sorted(SHAPES, key=time)


def _size(sight: CudaSight, extent: Node) -> int | None:
    index = sight.names.polynomial(extent)
    values = {name: value for name in index.names if isinstance(value := sight.value(name), int)}
    return index.at(values).number


def _patched(sight: CudaSight, found: Matmul, shape: Shape) -> Patch | Refusal:
    patch = sight.patch()
    names = {name: fresh(sight.file, name, f"{name}_", f"block_{name}") for name in _NAMES}
    body = sight.kernel.body
    patch.between(body.start_byte, body.end_byte, "{\n" + _kernel(sight, found, shape, names) + "}")
    bounds = f"__launch_bounds__({shape.threads})"
    if sight.kernel.bounds:
        node = next(one for one in sight.kernel.node.named_children if one.type == "launch_bounds")
        patch.replace(node, bounds)
    else:
        patch.before(sight.kernel.name_node, f"{bounds} ")
    cells = {side.axis: (side.extent, size) for side, size in ((found.rows, shape.bm), (found.columns, shape.bn))}
    return relaunched(sight, patch, cells, str(shape.threads)) or patch


def _kernel(sight: CudaSight, found: Matmul, shape: Shape, names: dict[str, str]) -> str:
    step = indent_of(sight.file.source, next(iter(sight.kernel.body.named_children))) or "    "
    rows, columns, k = found.rows, found.columns, found.loop.loop.variable
    a, b = f"{rows.access.base}s", f"{columns.access.base}s"
    tile_a, tile_b = (fresh(sight.file, one, f"{one}_tile") for one in (a, b if b != a else f"{b}2"))
    count = sight.content(found.loop.count)
    words = names | {
        "row": rows.name,
        "col": columns.name,
        "k": k,
        "count": count,
        "kind": _type(sight, found),
        "tile_a": tile_a,
        "tile_b": tile_b,
        "row_axis": rows.axis,
        "col_axis": columns.axis,
        "row_type": rows.type,
        "col_type": columns.type,
        "a_aligned_if": _aligned(sight, rows, count),
        "b_aligned_if": _aligned(sight, columns, count),
        "pad_a": " + 4" if rows.along_k else "",
        "pad_b": " + 4" if columns.along_k else "",
        **{f"{name}_is": str(value) for name, value in vars(shape).items()},
    }
    text = "".join(f"{sight.content(one)}\n" for one in found.kept) + _HEAD.format(**words)
    for side, which in ((rows, "a"), (columns, "b")):
        text = text.replace(f"@fetch_{which}@\n", _fetched(sight, side, which, words))
        text = text.replace(f"@stage_{which}@\n", _staged(side, which, words))
    text += _epilogue(sight, found, words)
    return textwrap.indent(
        text.replace("    ", step), step, lambda line: bool(line.strip()) and not line.startswith("#")
    )


def _type(sight: CudaSight, found: Matmul) -> str:
    declared = found.loop.loop.node.child_by_field_name("initializer")
    kind = declared.child_by_field_name("type") if declared is not None else None
    return sight.content(kind) if kind is not None else "int"


def _aligned(sight: CudaSight, side: Side, count: str) -> str:
    """When four elements of an operand can be loaded at once: all rows begin on 16 bytes, and end on them."""
    base, stride = side.access.base, written(side.stride)
    first = f"{base} + {written(side.first)}" if side.first.terms else base
    lengths = dict.fromkeys(
        (_in_parentheses(stride), _in_parentheses(count if side.along_k else sight.content(side.extent)))
    )
    return " && ".join([f"reinterpret_cast<size_t>({first}) % 16 == 0", *(f"{one} % 4 == 0" for one in lengths)])


def _in_parentheses(code: str) -> str:
    return code if code.isidentifier() else f"({code})"


def _fetched(sight: CudaSight, side: Side, which: str, words: dict[str, str]) -> str:
    """Four elements of a tile on their way into registers."""
    words = words | _operand(side, which, words)
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


def _staged(side: Side, which: str, words: dict[str, str]) -> str:
    """The registers on their way into the tile, turned where they lie along `k`."""
    return (_STAGE_TURNED if side.along_k else _STAGE).format(**words | _operand(side, which, words))


def _operand(side: Side, which: str, words: dict[str, str]) -> dict[str, str]:
    """How wide the rows of a tile are in memory, and what the operand's names are."""
    wide = words["BK"] if side.along_k else words["BM" if which == "a" else "BN"]
    names = {"WIDE": wide, "LOADS": words[f"LOADS_{which.upper()}"], "edge": words["m" if which == "a" else "n"]}
    return names | {"tile": words[f"tile_{which}"], "next": words[f"{which}_next"]}


def _epilogue(sight: CudaSight, found: Matmul, words: dict[str, str]) -> str:
    """What is done with each sum: the kernel's own statements, under its own bounds."""
    source = sight.file.source
    bounds = " && ".join(bound.code(source, {}) for bound in found.loop.bounds)
    store = single_store(sight, found)
    element = f"{words['acc']}[{words['i']}][{words['j']}]"
    if store is not None:
        lines = [substituted(source, store, {found.sum: element})]
    else:
        lines = list(_statements(sight, found, element))
    inner = "\n".join(lines)
    if len(lines) == 1 and "\n" not in inner:
        guarded = f"if ({bounds}) {inner}"
    else:
        guarded = f"if ({bounds}) {{\n{textwrap.indent(inner, '    ')}\n}}"
    return _EPILOGUE.format(**words, guarded=textwrap.indent(guarded, " " * 8))


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


_HEAD = """\
constexpr int {BM} = {bm_is}, {BN} = {bn_is}, {BK} = {bk_is}, {TM} = {tm_is}, {TN} = {tn_is};
constexpr int {THREADS} = ({BM} / {TM}) * ({BN} / {TN});
constexpr int {LOADS_A} = {BM} * {BK} / 4 / {THREADS}, {LOADS_B} = {BK} * {BN} / 4 / {THREADS};
constexpr int {WARPS_N} = {BN} / (8 * {TN});  // a warp is 4 threads high and 8 wide
__shared__ __align__(16) float {tile_a}[2][{BK}][{BM}{pad_a}];
__shared__ __align__(16) float {tile_b}[2][{BK}][{BN}{pad_b}];
const int {tid} = threadIdx.x, {lane} = {tid} % 32, {warp} = {tid} / 32;
const {row_type} {row0} = blockIdx.{row_axis} * {BM};
const {col_type} {col0} = blockIdx.{col_axis} * {BN};
const int {tile_row} = {warp} / {WARPS_N} * (4 * {TM}) + {lane} / 8 * 4;
const int {tile_col} = {warp} % {WARPS_N} * (8 * {TN}) + {lane} % 8 * 4;
const bool {a_aligned} = {a_aligned_if};
const bool {b_aligned} = {b_aligned_if};
__align__(16) float {a_next}[{LOADS_A}][4], {b_next}[{LOADS_B}][4];
float {acc}[{TM}][{TN}] = {{}};

auto {fetch} = [&]({kind} {k0}) {{
@fetch_a@
@fetch_b@
}};
auto {stage} = [&](int {at}) {{
@stage_a@
@stage_b@
}};

{fetch}(0);
{stage}(0);
__syncthreads();
int {at} = 0;
for ({kind} {k0} = 0; {k0} < {count}; {k0} += {BK}) {{
    if ({k0} + {BK} < {count}) {fetch}({k0} + {BK});
#pragma unroll
    for (int {k} = 0; {k} < {BK}; ++{k}) {{
        __align__(16) float {a}[{TM}], {b}[{TN}];
#pragma unroll
        for (int {i} = 0; {i} < {TM}; {i} += 4) {{
            *reinterpret_cast<float4*>(&{a}[{i}]) = *reinterpret_cast<float4*>(&{tile_a}[{at}][{k}][{tile_row} + {i} * 4]);
        }}
#pragma unroll
        for (int {j} = 0; {j} < {TN}; {j} += 4) {{
            *reinterpret_cast<float4*>(&{b}[{j}]) = *reinterpret_cast<float4*>(&{tile_b}[{at}][{k}][{tile_col} + {j} * 8]);
        }}
#pragma unroll
        for (int {i} = 0; {i} < {TM}; ++{i}) {{
#pragma unroll
            for (int {j} = 0; {j} < {TN}; ++{j}) {acc}[{i}][{j}] += {a}[{i}] * {b}[{j}];
        }}
    }}
    {at} ^= 1;
    if ({k0} + {BK} < {count}) {stage}({at});
    __syncthreads();
}}
"""

_FETCH = """\
#pragma unroll
    for (int {i} = 0; {i} < {LOADS}; ++{i}) {{
        {outer} + ({tid} + {i} * {THREADS}) / ({WIDE} / 4);
        {beside} + ({tid} + {i} * {THREADS}) % ({WIDE} / 4) * 4;
        if ({aligned}) {{
            const bool {inside} = {condition};
            *reinterpret_cast<float4*>({next}[{i}]) = {inside} ? *reinterpret_cast<const float4*>(&{element}) : float4{{}};
        }} else {{
#pragma unroll
            for (int {j} = 0; {j} < 4; ++{j}) {next}[{i}][{j}] = {moved} ? {next_element} : 0.0f;
        }}
    }}
"""

_STAGE = """\
#pragma unroll
    for (int {i} = 0; {i} < {LOADS}; ++{i}) {{
        const int {k} = ({tid} + {i} * {THREADS}) / ({WIDE} / 4), {edge} = ({tid} + {i} * {THREADS}) % ({WIDE} / 4) * 4;
        *reinterpret_cast<float4*>(&{tile}[{at}][{k}][{edge}]) = *reinterpret_cast<float4*>({next}[{i}]);
    }}
"""

_STAGE_TURNED = """\
#pragma unroll
    for (int {i} = 0; {i} < {LOADS}; ++{i}) {{
        const int {edge} = ({tid} + {i} * {THREADS}) / ({WIDE} / 4), {k} = ({tid} + {i} * {THREADS}) % ({WIDE} / 4) * 4;
#pragma unroll
        for (int {j} = 0; {j} < 4; ++{j}) {tile}[{at}][{k} + {j}][{edge}] = {next}[{i}][{j}];
    }}
"""

_EPILOGUE = """\
#pragma unroll
for (int {i} = 0; {i} < {TM}; ++{i}) {{
#pragma unroll
    for (int {j} = 0; {j} < {TN}; ++{j}) {{
        const {row_type} {row} = {row0} + {tile_row} + {i} / 4 * 16 + {i} % 4;
        const {col_type} {col} = {col0} + {tile_col} + {j} / 4 * 32 + {j} % 4;
{guarded}
    }}
}}
"""
