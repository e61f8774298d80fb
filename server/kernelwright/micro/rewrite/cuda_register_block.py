"""A matrix product in which each thread keeps a block of results in registers, fed from tiles that the next ones follow."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.micro.rewrite.cuda_matmul import Matmul, Side
from kernelwright.micro.rewrite.cuda_product import (
    Vector,
    fetched,
    guarded,
    in_blocks,
    kept,
    operand,
    plain_product,
    words_of,
)
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal

_NAMES = (
    *("BM", "BN", "BK", "TM", "TN", "THREADS", "LOADS_A", "LOADS_B", "WARPS_N", "tid", "lane", "warp", "row0", "col0"),
    *("tile_row", "tile_col", "a_aligned", "b_aligned", "a_next", "b_next", "acc", "fetch", "stage", "at"),
    *("a", "b", "i", "j", "k0", "m", "n", "inside"),
)


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


_VECTOR = Vector("float4", 4, "0.0f")


def blocked(sight: CudaSight) -> tuple[Matmul, tuple[tuple[Shape, str], ...]] | Refusal:
    """The text with the product in each shape, the one first that the workload's sizes speak for."""
    product = plain_product(sight, ("float",))
    if isinstance(product, Refusal):
        return product
    plain_loop, found = product
    variants = in_blocks(sight, plain_loop, found, SHAPES, _kernel)
    return variants if isinstance(variants, Refusal) else (found, variants)


def _kernel(sight: CudaSight, found: Matmul, shape: Shape) -> str:
    pads = {f"pad_{which}": " + 4" * side.along_k for side, which in ((found.rows, "a"), (found.columns, "b"))}
    words = {**words_of(sight, found, shape, _NAMES, _VECTOR), **pads}
    text = kept(sight, found) + _HEAD.format(**words)
    for side, which in ((found.rows, "a"), (found.columns, "b")):
        text = text.replace(f"@fetch_{which}@\n", fetched(sight, side, which, words))
        text = text.replace(f"@stage_{which}@\n", _staged(side, which, words))
    results = guarded(sight, found, f"{words['acc']}[{words['i']}][{words['j']}]")
    return text + _EPILOGUE.format(**words, guarded=textwrap.indent(results, " " * 8))


def _staged(side: Side, which: str, words: Mapping[str, str]) -> str:
    """The registers on their way into the tile, turned where they lie along `k`."""
    return (_STAGE_TURNED if side.along_k else _STAGE).format(**{**words, **operand(side, which, words)})


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
