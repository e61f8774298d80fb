"""cuda.tensor-core: which products are seen, how operands are staged, which block comes first, and what is left alone."""

import dataclasses
import itertools
import re

import pytest
import torch

from kernelwright.macro.strategies import cuda_register_block
from kernelwright.macro.strategies.cuda_tensor_core import STRATEGY
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from macro.cuda_files import H200, observe, refusal, rewritten

KERNEL = """\
#include <{header}>

__global__ void product(const {t}* A, const {t}* B, {out}* C, int M, int N, int K) {{
    int row = blockIdx.{y} * blockDim.{y} + threadIdx.{y};
    int col = blockIdx.{x} * blockDim.{x} + threadIdx.{x};
    if (row < M && col < N) {{
        {sum}
        for (int k = 0; k < K; ++k) {loop}
        {store}
    }}
}}

// workload: solve(A=randn(M*K), B=randn(K*N), C=out(M*N), M={size}, N={size}, K=64)
extern "C" void solve(const {t}* A, const {t}* B, {out}* C, int M, int N, int K) {{
    product<<<dim3(({wide} + 15) / 16, ({high} + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}}
"""
FORM = {
    "header": "cuda_fp16.h",
    "t": "half",
    "out": "half",
    "x": "x",
    "y": "y",
    "wide": "N",
    "high": "M",
    "size": 4096,
    "sum": "float sum = 0.0f;",
    "loop": "sum += __half2float(A[row * K + k]) * __half2float(B[k * N + col]);",
    "store": "C[row * N + col] = __float2half(sum);",
}
HALF_SUM = {"sum": "half sum = __float2half(0.0f);", "store": "C[row * N + col] = sum;"}
BRAIN = {
    "header": "cuda_bf16.h",
    "t": "__nv_bfloat16",
    "out": "float",
    "store": "C[row * N + col] = sum;",
    "loop": "sum = fmaf(__bfloat162float(A[row * K + k]), (float)B[k * N + col], sum);",
}
FORMS: dict[str, dict[str, object]] = {
    "plain": {},
    "transposed, rows along x": {
        "x": "y",
        "y": "x",
        "wide": "M",
        "high": "N",
        "loop": "sum += (float)A[k * M + row] * (float)__ldg(&B[col * K + k]);",
        "store": "C[row * N + col] = __float2half(sum);",
    },
    "both along k": {"loop": "sum += (float)A[row * K + k] * (float)B[col * K + k];"},
    "bfloat16": BRAIN,
    "an epilogue": {
        "out": "float",
        "store": "float v = 0.5f * sum + C[row * N + col];\n        C[row * N + col] = v > 0.0f ? v : 0.0f;",
    },
    "a bias ahead": {"sum": "float sum = __half2float(B[col]);"},
    "products of half": {"loop": "sum += __half2float(__hmul(A[row * K + k], B[k * N + col]));"},
    "sums of half": {**HALF_SUM, "loop": "sum = __hfma(A[row * K + k], B[k * N + col], sum);"},
    "sums by hadd": {**HALF_SUM, "loop": "sum = __hadd(sum, __hmul(A[row * K + k], B[k * N + col]));"},
    "sums by operators": {**HALF_SUM, "loop": "sum += A[row * K + k] * B[k * N + col];"},
}
ALL_BLOCKS = ("plain", "transposed, rows along x", "both along k")  # the last takes the most shared memory
SIZES = ((1, 1, 1), (31, 33, 17), (33, 64, 24), (5, 131, 0), (129, 40, 72))


def product(**changed: object) -> str:
    return KERNEL.format(**{**FORM, **changed})


@pytest.mark.parametrize("name", FORMS)
def test_the_rewrite_of_a_form_computes_the_same(name: str) -> None:
    form = FORMS[name]
    text = product(**form)
    variants = rewritten(STRATEGY, text)[: None if name in ALL_BLOCKS else 1]
    element = torch.bfloat16 if "bfloat" in text else torch.half
    result = torch.float if form.get("out") == "float" else torch.half
    before, *others = [LANGUAGE.load("/nowhere/kernel.cu", one, "test") for one in (text, *variants)]
    for sizes, shift in itertools.product(SIZES, (0, 1)):
        m, n, k = sizes
        generator = torch.Generator().manual_seed(sum(sizes))
        a, b, c = (
            torch.randn(max(m * k, k * n, m * n) + shift, generator=generator).to(kind)[shift:]
            for kind in (element, element, result)
        )
        expected = c.clone()
        before.solve(a, b, expected, *sizes)
        narrow = "half sum" in text or "__hmul" in text
        for module in others if shift == 0 else others[:1]:
            found = c.clone()
            module.solve(a, b, found, *sizes)
            within = {"rtol": 2e-2, "atol": 5e-2} if narrow else {"rtol": 1e-3, "atol": 1e-3}
            assert torch.allclose(found, expected, **within), (sizes, shift)
    for module in (before, *others):
        LANGUAGE.unload(module)


def test_a_sum_in_float_is_more_accurate_than_one_in_half() -> None:
    text = product(**FORMS["sums of half"])
    modules = [LANGUAGE.load("/nowhere/kernel.cu", one, "test") for one in (text, rewritten(STRATEGY, text)[0])]
    a, b = (torch.randn(size, generator=torch.Generator().manual_seed(1)).half() for size in ((40, 400), (400, 40)))
    exact, errors = a.double() @ b.double(), []
    for module in modules:
        c = torch.empty(40, 40).half()
        module.solve(a, b, c, 40, 40, 400)
        errors.append((c.double() - exact).square().mean())
        LANGUAGE.unload(module)
    assert errors[1] < errors[0] / 4


WRITTEN = {
    "plain": (
        "#include <cuda_fp16.h>\n#include <mma.h>\n",
        "As[2][BM][BK + 8];",
        "Bs[2][BK][BN + 8];",
        "a_aligned = reinterpret_cast<size_t>(A) % 16 == 0 && K % 8 == 0;",
        "half, wmma::row_major> a[",
        "half, wmma::row_major> b[",
        "C[row * N + col] = __float2half(results[warp][e / 16][e % 16]);",
    ),
    "transposed, rows along x": (
        "As[2][BK][BM + 8];",
        "Bs[2][BN][BK + 8];",
        "half, wmma::col_major> a[",
        "half, wmma::col_major> b[",
        "const int row0 = blockIdx.x * BM;",
    ),
    "bfloat16": (
        "16, 16, 16, __nv_bfloat16, wmma::row_major",
        ": __float2bfloat16(0.0f);",
        "C[row * N + col] = results[warp][e / 16][e % 16];",
    ),
    "sums of half": ("C[row * N + col] = __float2half(results[warp][e / 16][e % 16]);",),
    "an epilogue": ("float sum = results[warp][e / 16][e % 16];", "float v = 0.5f * sum + C[row * N + col];"),
    "a bias ahead": ("float sum = __half2float(B[col]);", "sum += results[warp][e / 16][e % 16];"),
}


@pytest.mark.parametrize(("form", "lines"), WRITTEN.items())
def test_what_is_written(form: str, lines: tuple[str, ...]) -> None:
    text = rewritten(STRATEGY, product(**FORMS[form]))[0]
    assert [line for line in lines if line not in text] == []


def test_sums_of_float_results_are_added_up_outside_of_tensor_cores() -> None:
    narrow, wide = (rewritten(STRATEGY, product(**FORMS[form])) for form in ("plain", "bfloat16"))
    assert all("mma_sync(acc[i][j], a[i], b[j], acc[i][j]);" in text for text in narrow)
    assert all("acc[i][j].x[e] += part[i][j].x[e];" in text for text in wide)
    assert len(wide) == 3  # the registers of a warp do not hold both sums of more results


TILED = """\
#include <cuda_fp16.h>
#define TILE 16

__global__ void product(const __half* A, const __half* B, float* C, int M, int N, int K) {{
    __shared__ {kind} As[TILE][TILE], Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {{
        int a_col = t * TILE + threadIdx.x, b_row = t * TILE + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = row < M && a_col < K ? {load}(A[row * K + a_col]) : {zero};
        Bs[threadIdx.y][threadIdx.x] = b_row < K && col < N ? {load}(B[b_row * N + col]) : {zero};
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += (float)As[threadIdx.y][k] * (float)Bs[k][threadIdx.x];
        __syncthreads();
    }}
    if (row < M && col < N) C[row * N + col] = sum;
}}

// workload: solve(A=randn(M*K), B=randn(K*N), C=out(M*N), M=4096, N=4096, K=64)
extern "C" void solve(const __half* A, const __half* B, float* C, int M, int N, int K) {{
    product<<<dim3((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), dim3(TILE, TILE)>>>(A, B, C, M, N, K);
}}
"""


@pytest.mark.parametrize(
    ("kind", "load", "zero"),
    [("__half", "", "__float2half(0.0f)"), ("float", "__half2float", "0.0f")],
    ids=["tiles of half", "tiles of float"],
)
def test_a_tiled_product_is_tiled_anew(kind: str, load: str, zero: str) -> None:
    text = rewritten(STRATEGY, TILED.format(kind=kind, load=load, zero=zero))[0]
    assert "wmma::load_matrix_sync(a[i], &As[at][warp_row + i * 16][k], BK + 8);" in text
    assert "As[TILE][TILE]" not in text


@pytest.mark.parametrize(("size", "tile"), [(256, (64, 64)), (1024, (64, 128)), (4096, (128, 128))])
def test_the_sizes_choose_the_first_block(size: int, tile: tuple[int, int]) -> None:
    variants = rewritten(STRATEGY, product(size=size))
    found = re.search(r"BM = (\d+), BN = (\d+)", variants[0])
    assert found is not None
    rows, columns = int(found[1]), int(found[2])
    assert (rows, columns) == tile
    assert f"dim3((N + {columns - 1}) / {columns}, (M + {rows - 1}) / {rows})" in variants[0]
    assert len(set(variants)) == len(variants) > 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (cuda_register_block.STRATEGY.example.before, "float, which tensor cores would round to TF32"),
        (STRATEGY.example.after, "uses tensor cores already"),
        (product(t="double", loop="sum += A[row * K + k] * B[k * N + col];"), "not one of __half or half"),
        (product(sum="double sum = 0.0;"), "summed up in that or float"),
        (product(loop="sum += (float)A[row * K + k] * (float)B[k * N + 2 * col];"), "do not lie beside each other"),
        (product(loop="sum += (float)A[row * K + k] * (int)B[k * N + col];"), "other than a product of two"),
        (product(loop="sum += fabsf((float)A[row * K + k]) * (float)B[k * N + col];"), "other than a product of two"),
        (product(store="C[threadIdx.x] = __float2half(sum);"), "another thread's place"),
        (product(size=8), "`M` is 8, and a tile of tensor cores is 16 wide"),
        (product().replace("K=64", "K=4"), "`K` is 4, and a tile of tensor cores is 16 wide"),
    ],
)  # fmt: skip
def test_other_kernels_are_refused(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)


@pytest.mark.parametrize(("form", "capability"), [("plain", 61), ("bfloat16", 75)])
def test_older_gpus_are_refused(form: str, capability: int) -> None:
    observed = observe(product(**FORMS[form]), device=dataclasses.replace(H200, compute_capability=capability))
    assert "from compute capability" in STRATEGY.find(observed).reason
    newer = dataclasses.replace(H200, compute_capability=capability + 10)
    assert isinstance(STRATEGY.find(dataclasses.replace(observed, device=newer)), tuple)
