"""A matrix product of 16-bit operands on tensor cores: fragments of wmma, fed from double-buffered tiles."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.micro.rewrite.cuda_guarded import type_of
from kernelwright.micro.rewrite.cuda_matmul import Matmul, Side, element_of
from kernelwright.micro.rewrite.cuda_product import (
    Vector,
    fetched,
    guarded,
    in_blocks,
    kept,
    operand,
    plain_product,
    size_of,
    words_of,
)
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal

_NAMES = (
    *("BM", "BN", "BK", "WM", "WN", "THREADS", "LOADS_A", "LOADS_B", "tid", "lane", "warp", "row0", "col0"),
    *("warp_row", "warp_col", "a_aligned", "b_aligned", "a_next", "b_next", "acc", "part", "fetch", "stage", "at"),
    *("a", "b", "e", "i", "j", "k0", "m", "n", "inside", "results"),
)
_HALF, _BRAIN = ("__half", "half"), ("__nv_bfloat16", "nv_bfloat16")
_FROM_FLOAT = {**dict.fromkeys(_HALF, "__float2half"), **dict.fromkeys(_BRAIN, "__float2bfloat16")}
_EDGE = 16  # of a fragment


@dataclass(frozen=True)
class Shape:
    """The tile of a block and the part of it that a warp computes. `rate`: TFLOP/s of full Hoppers at 4096 x 4096 x 4096."""

    bm: int
    bn: int
    bk: int
    wm: int
    wn: int
    rate: float

    @property
    def threads(self) -> int:
        return self.bm // self.wm * (self.bn // self.wn) * 32

    def __str__(self) -> str:
        return f"{self.bm} x {self.bn} x {self.bk}, {self.wm} x {self.wn} a warp"


SHAPES = (
    Shape(128, 128, 32, 64, 64, 275.0),
    Shape(128, 128, 32, 32, 64, 244.0),
    Shape(64, 128, 32, 32, 64, 217.0),
    Shape(64, 64, 64, 32, 32, 200.0),
    Shape(64, 64, 32, 32, 32, 167.0),
)
ROUNDED = (
    Shape(64, 64, 64, 32, 32, 190.0),
    Shape(128, 128, 32, 64, 32, 172.0),
    Shape(64, 64, 32, 32, 32, 159.0),
)
"""Shapes for sums that are added up outside of tensor cores, of which a warp's registers hold two for each result."""


def on_tensor_cores(sight: CudaSight) -> tuple[Matmul, tuple[tuple[Shape, str], ...]] | Refusal:
    """The text with the product in each shape, the one first that the workload's sizes speak for."""
    if "wmma" in sight.content(sight.kernel.body):
        return Refusal("The kernel uses tensor cores already.", sight.kernel.body.start_point.row)
    product = plain_product(sight, tuple(_FROM_FLOAT))
    if isinstance(product, Refusal):
        return _of_float(sight) or product
    plain_loop, found = product
    unfit = _unfit(plain_loop, found)
    if unfit is not None:
        return unfit
    shapes = ROUNDED if _keeps_float(plain_loop, found) else SHAPES
    variants = in_blocks(sight, plain_loop, found, shapes, _kernel, "mma.h")
    return variants if isinstance(variants, Refusal) else (found, variants)


def _of_float(sight: CudaSight) -> Refusal | None:
    """Why a product of float is left alone."""
    if isinstance(plain_product(sight, ("float",)), Refusal):
        return None
    return Refusal(
        "The operands are float, which tensor cores would round to TF32: `cuda.register-block` keeps their accuracy."
    )


def _unfit(sight: CudaSight, found: Matmul) -> Refusal | None:
    """Why tensor cores are not there for a product, or do not pay off."""
    element, capability = element_of(sight, found.rows.access), sight.device.compute_capability
    least = 80 if element in _BRAIN else 70
    if capability is not None and capability < least:
        return Refusal(f"Tensor cores take {element} from compute capability {least / 10} on.")
    for extent in (found.rows.extent, found.columns.extent, found.loop.count):
        size = size_of(sight, extent)
        if size is not None and size < _EDGE:
            return Refusal(
                f"`{sight.content(extent)}` is {size}, and a tile of tensor cores is {_EDGE} wide.",
                found.loop.loop.node.start_point.row,
            )
    return None


def _kernel(sight: CudaSight, found: Matmul, shape: Shape) -> str:
    element = element_of(sight, found.rows.access)
    to_element = _FROM_FLOAT[element]
    words = {
        **words_of(sight, found, shape, _NAMES, Vector("uint4", 8, f"{to_element}(0.0f)")),
        "element": element,
    }
    exact = _keeps_float(sight, found)
    words["sums"] = words["part" if exact else "acc"]
    sides = ((found.rows, "a"), (found.columns, "b"))
    words |= {key: value for side, which in sides for key, value in _tile(side, which, words).items()}
    text = kept(sight, found) + _HEAD.format(**words)
    text = text.replace("@begin@\n", _BEGIN.format(**words) if exact else "")
    text = text.replace("@end@\n", _END.format(**words) if exact else "")
    for side, which in sides:
        text = text.replace(f"@fetch_{which}@\n", fetched(sight, side, which, words))
        text = text.replace(f"@stage_{which}@\n", _staged(side, which, words))
    result = "{results}[{warp}][{e} / 16][{e} % 16]".format(**words)
    if type_of(sight, found.sum) in _FROM_FLOAT:
        result = f"{to_element}({result})"
    return text + _EPILOGUE.format(**words, guarded=textwrap.indent(guarded(sight, found, result), " " * 12))


def _keeps_float(sight: CudaSight, found: Matmul) -> bool:
    """Whether results are stored as float, so that rounding to 16 bits does not hide how they were summed up."""
    stores = [one for one in sight.accesses if one.writes and one.node.start_byte > found.loop.loop.node.end_byte]
    return any(element_of(sight, one) not in _FROM_FLOAT for one in stores)


def _tile(side: Side, which: str, words: Mapping[str, str]) -> dict[str, str]:
    """How an operand lies in shared memory, which is how it lies in memory, and how fragments are loaded from there."""
    edge, first = (words[name] for name in (("BM", "warp_row") if which == "a" else ("BN", "warp_col")))
    at, k, number = words["at"], words["k"], words["i" if which == "a" else "j"]
    along, across = f"{first} + {number} * 16", k
    rows, wide = (edge, words["BK"]) if side.along_k else (words["BK"], edge)
    place = f"[{at}][{along}][{across}]" if side.along_k else f"[{at}][{across}][{along}]"
    by_rows = side.along_k == (which == "a")
    return {
        f"sizes_{which}": f"[2][{rows}][{wide} + 8]",
        f"place_{which}": place,
        f"stride_{which}": f"{wide} + 8",
        f"layout_{which}": "row_major" if by_rows else "col_major",
    }


def _staged(side: Side, which: str, words: Mapping[str, str]) -> str:
    """The registers on their way into the tile."""
    words = {**words, **operand(side, which, words)}
    outer, beside = (words["edge"], words["k"]) if side.along_k else (words["k"], words["edge"])
    return _STAGE.format(**{**words, "outer": outer, "beside": beside})


_HEAD = """\
using namespace nvcuda;
constexpr int {BM} = {bm_is}, {BN} = {bn_is}, {BK} = {bk_is}, {WM} = {wm_is}, {WN} = {wn_is};  // {WM} x {WN} results a warp
constexpr int {THREADS} = ({BM} / {WM}) * ({BN} / {WN}) * 32;
constexpr int {LOADS_A} = {BM} * {BK} / 8 / {THREADS}, {LOADS_B} = {BK} * {BN} / 8 / {THREADS};
__shared__ __align__(32) {element} {tile_a}{sizes_a};
__shared__ __align__(32) {element} {tile_b}{sizes_b};
__shared__ __align__(32) float {results}[{THREADS} / 32][16][16];
const int {tid} = threadIdx.x, {lane} = {tid} % 32, {warp} = {tid} / 32;
const {row_type} {row0} = blockIdx.{row_axis} * {BM};
const {col_type} {col0} = blockIdx.{col_axis} * {BN};
const int {warp_row} = {warp} / ({BN} / {WN}) * {WM}, {warp_col} = {warp} % ({BN} / {WN}) * {WN};
const bool {a_aligned} = {a_aligned_if};
const bool {b_aligned} = {b_aligned_if};
__align__(16) {element} {a_next}[{LOADS_A}][8], {b_next}[{LOADS_B}][8];
wmma::fragment<wmma::accumulator, 16, 16, 16, float> {acc}[{WM} / 16][{WN} / 16];
#pragma unroll
for (int {i} = 0; {i} < {WM} / 16; ++{i}) {{
#pragma unroll
    for (int {j} = 0; {j} < {WN} / 16; ++{j}) wmma::fill_fragment({acc}[{i}][{j}], 0.0f);
}}

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
@begin@
#pragma unroll
    for (int {k} = 0; {k} < {BK}; {k} += 16) {{
        wmma::fragment<wmma::matrix_a, 16, 16, 16, {element}, wmma::{layout_a}> {a}[{WM} / 16];
        wmma::fragment<wmma::matrix_b, 16, 16, 16, {element}, wmma::{layout_b}> {b}[{WN} / 16];
#pragma unroll
        for (int {i} = 0; {i} < {WM} / 16; ++{i}) wmma::load_matrix_sync({a}[{i}], &{tile_a}{place_a}, {stride_a});
#pragma unroll
        for (int {j} = 0; {j} < {WN} / 16; ++{j}) wmma::load_matrix_sync({b}[{j}], &{tile_b}{place_b}, {stride_b});
#pragma unroll
        for (int {i} = 0; {i} < {WM} / 16; ++{i}) {{
#pragma unroll
            for (int {j} = 0; {j} < {WN} / 16; ++{j}) wmma::mma_sync({sums}[{i}][{j}], {a}[{i}], {b}[{j}], {sums}[{i}][{j}]);
        }}
    }}
@end@
    {at} ^= 1;
    if ({k0} + {BK} < {count}) {stage}({at});
    __syncthreads();
}}
"""

_BEGIN = """\
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> {part}[{WM} / 16][{WN} / 16];
#pragma unroll
    for (int {i} = 0; {i} < {WM} / 16; ++{i}) {{
#pragma unroll
        for (int {j} = 0; {j} < {WN} / 16; ++{j}) wmma::fill_fragment({part}[{i}][{j}], 0.0f);
    }}
"""

_END = """\
    // A tensor core cuts off what it adds; these sums are rounded.
#pragma unroll
    for (int {i} = 0; {i} < {WM} / 16; ++{i}) {{
#pragma unroll
        for (int {j} = 0; {j} < {WN} / 16; ++{j}) {{
#pragma unroll
            for (int {e} = 0; {e} < {acc}[{i}][{j}].num_elements; ++{e}) {acc}[{i}][{j}].x[{e}] += {part}[{i}][{j}].x[{e}];
        }}
    }}
"""

_STAGE = """\
#pragma unroll
    for (int {i} = 0; {i} < {LOADS}; ++{i}) {{
        const int {outer} = ({tid} + {i} * {THREADS}) / ({WIDE} / 8), {beside} = ({tid} + {i} * {THREADS}) % ({WIDE} / 8) * 8;
        *reinterpret_cast<uint4*>(&{tile}[{at}][{outer}][{beside}]) = *reinterpret_cast<uint4*>({next}[{i}]);
    }}
"""

_EPILOGUE = """\
#pragma unroll
for (int {i} = 0; {i} < {WM} / 16; ++{i}) {{
#pragma unroll
    for (int {j} = 0; {j} < {WN} / 16; ++{j}) {{
        wmma::store_matrix_sync(&{results}[{warp}][0][0], {acc}[{i}][{j}], 16, wmma::mem_row_major);
        __syncwarp();
        for (int {e} = {lane}; {e} < 256; {e} += 32) {{
            const {row_type} {row} = {row0} + {warp_row} + {i} * 16 + {e} / 16;
            const {col_type} {col} = {col0} + {warp_col} + {j} * 16 + {e} % 16;
{guarded}
        }}
        __syncwarp();
    }}
}}
"""
