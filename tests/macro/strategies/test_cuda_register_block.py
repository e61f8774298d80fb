"""cuda.register-block: which products are seen, what becomes of the launch, and which shape comes first."""

import pytest

from kernelwright.macro.strategies import cuda_shared_tile
from kernelwright.macro.strategies.cuda_register_block import STRATEGY
from macro.cuda_files import refusal, rewritten

KERNEL = """\
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {{
    int row = blockIdx.{y} * blockDim.{y} + threadIdx.{y};
    int col = blockIdx.{x} * blockDim.{x} + threadIdx.{x};
    if (row < M && col < N) {{
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) sum += {a} * {b};
        {store}
    }}
}}

// workload: solve(A=randn(M*K), B=randn(K*N), C=out(M*N), M={size}, N={size}, K=64)
extern "C" void solve(const float* A, const float* B, float* C, int M, int N, int K) {{
    {launch}
}}
"""
LAUNCH = "product<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);"
FORM = {
    "x": "x",
    "y": "y",
    "a": "A[row * K + k]",
    "b": "B[k * N + col]",
    "store": "C[row * N + col] = sum;",
    "size": 4096,
}


def product(**changed: object) -> str:
    return KERNEL.format(**{**FORM, "launch": LAUNCH, **changed})


def first(text: str) -> str:
    return rewritten(STRATEGY, text)[0]


@pytest.mark.parametrize(
    ("size", "tile"),
    [
        (4096, "BM = 128, BN = 128, BK = 16, TM = 8, TN = 16"),
        (1024, "BM = 64, BN = 64, BK = 16, TM = 8, TN = 8"),
        (512, "BM = 32, BN = 64"),
    ],
)
def test_the_sizes_choose_the_first_shape(size: int, tile: str) -> None:
    variants = rewritten(STRATEGY, product(size=size))
    assert tile in variants[0]
    assert len(set(variants)) == 8


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LAUNCH, "product<<<dim3((N + 63) / 64, (M + 31) / 32), 128>>>(A, B, C, M, N, K);"),
        (
            "dim3 block(16, 16);\n    dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y);\n"
            "    product<<<grid, block, 0, stream>>>(A, B, C, M, N, K);",
            "dim3 block(128);\n    dim3 grid((N + 63) / 64, (M + 31) / 32);\n"
            "    product<<<grid, block, 0, stream>>>(A, B, C, M, N, K);",
        ),
        (
            "dim3 block = dim3(16, 16, 1);\n    auto grid = dim3((N + 15) / 16, (M + 15) / 16, 2);\n"
            "    product<<<grid, block>>>(A, B, C, M, N, K);",
            "dim3 block = dim3(128);\n    auto grid = dim3((N + 15) / 16, (M + 15) / 16, 2);\n"
            "    product<<<dim3((N + 63) / 64, (M + 31) / 32, 2), block>>>(A, B, C, M, N, K);",
        ),
        (
            "dim3 block(16, 16);\n    use(block);\n"
            "    product<<<dim3((N + 15) / 16, (M + 15) / 16), block>>>(A, B, C, M, N, K);",
            "dim3 block(16, 16);\n    use(block);\n"
            "    product<<<dim3((N + 63) / 64, (M + 31) / 32), 128>>>(A, B, C, M, N, K);",
        ),
    ],
    ids=["at the launch", "by name", "by copies", "of others too"],
)
def test_the_launch_goes_along(before: str, after: str) -> None:
    small = next(text for text in rewritten(STRATEGY, product(launch=before)) if "BM = 32" in text)
    assert after in small
    assert "__launch_bounds__(128) product(" in small


@pytest.mark.parametrize(
    ("changed", "lines"),
    [
        ({}, ["const bool a_aligned = reinterpret_cast<size_t>(A) % 16 == 0 && K % 4 == 0;", "As[2][BK][BM + 4];",
              "Bs[2][BK][BN];", "if (row < M && col < N) C[row * N + col] = acc[i][j];"]),
        ({"a": "A[k * M + row]", "b": "__ldg(&B[col * K + k])"},
         ["a_next[i][j] = row + j < M && k < K ? A[k * M + row + j] : 0.0f;", "As[2][BK][BM];", "Bs[2][BK][BN + 4];"]),
        ({"b": "B[7 + k * 40 + col]"},
         ["b_aligned = reinterpret_cast<size_t>(B + 7) % 16 == 0 && (40) % 4 == 0 && N % 4 == 0;"]),
        ({"x": "y", "y": "x", "launch": LAUNCH.replace("(N +", "(@ +").replace("(M +", "(N +").replace("(@ +", "(M +")},
         ["const int row0 = blockIdx.x * BM;", "product<<<dim3((M + 127) / 128, (N + 127) / 128), 128>>>"]),
        ({"store": "float v = sum * 2.0f + C[row * N + col];\n        C[row * N + col] = v > 0.0f ? v : 0.0f;"},
         ["float sum = acc[i][j];", "float v = sum * 2.0f + C[row * N + col];"]),
    ],
    ids=["plain", "transposed", "a part of a matrix", "rows along x", "epilogue"],
)  # fmt: skip
def test_forms_of_products(changed: dict[str, object], lines: list[str]) -> None:
    text = first(product(**changed))
    assert [line for line in lines if line not in text] == []


def test_what_changes_belongs_to_one_element() -> None:
    text = (
        product()
        .replace("    if (row", "    float best = 0.0f, sum = 0.0f;\n    if (row")
        .replace("        float sum = 0.0f;\n", "")
    )
    text = text.replace("C[row * N + col] = sum;", "best = fmaxf(best, sum);\n        C[row * N + col] = best;")
    lines = (
        "float best = 0.0f, sum = 0.0f;\n                sum += acc[i][j];\n                best = fmaxf(best, sum);"
    )
    assert lines in first(text)


def test_a_tiled_product_is_tiled_anew() -> None:
    naive, tiled = cuda_shared_tile.STRATEGY.example.before, cuda_shared_tile.STRATEGY.example.after
    assert "const int row0 = blockIdx.y * BM;" in first(tiled)
    assert first(tiled).replace("A[K * row + k", "A[row * K + k").replace("B[N * k + col", "B[k * N + col") == first(
        naive
    )


TEMPLATE = """\
template <{parameters}>
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {{
    __shared__ {kind} As[TILE][TILE], Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    {kind} sum = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {{
        int a_col = t * TILE + threadIdx.x, b_row = t * TILE + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = row < M && a_col < K ? A[row * K + a_col] : 0.0f;
        Bs[threadIdx.y][threadIdx.x] = b_row < K && col < N ? B[b_row * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }}
    if (row < M && col < N) C[row * N + col] = sum;
}}

// workload: solve(A=randn(M*K), B=randn(K*N), C=out(M*N), M=4096, N=4096, K=64)
extern "C" void solve(const float* A, const float* B, float* C, int M, int N, int K) {{
    const int tile = {tile};
    product<{arguments}><<<dim3((N + tile - 1) / tile, (M + tile - 1) / tile), dim3(tile, tile)>>>(A, B, C, M, N, K);
}}
"""
ARGUMENTS = {"parameters": "int TILE", "kind": "float", "tile": "16", "arguments": "tile"}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"arguments": "16"},
        {"tile": "8", "arguments": "2 * tile - 8"},
        {"parameters": "int TILE, typename T", "kind": "T", "arguments": "tile, float"},
    ],
    ids=["a constant", "a number", "an expression", "a type"],
)
def test_the_one_instance_of_a_template(changed: dict[str, str]) -> None:
    text = first(TEMPLATE.format(**{**ARGUMENTS, **changed}))
    assert "template" not in text
    assert ("const int tile = " in text) == (changed.get("arguments") == "16")
    assert "product<<<dim3((N + 127) / 128, (M + 127) / 128), 128>>>(A, B, C, M, N, K);" in text
    assert "const int row0 = blockIdx.y * BM;" in text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TEMPLATE.format(**{**ARGUMENTS, "arguments": "M"}), "does not say in numbers and types"),
        (TEMPLATE.format(**{**ARGUMENTS, "parameters": "int TILE, int U = 4"}), "does not say in numbers and types"),
        (TEMPLATE.format(**{**ARGUMENTS, "parameters": "int TILE, typename T", "kind": "T", "arguments": "16, double"}),
         "not one of float"),
        (TEMPLATE.format(**{**ARGUMENTS, "tile": "8", "arguments": "2 * tile"}), "not those of a plain product"),
        (TEMPLATE.format(**ARGUMENTS) + "template __global__ void product<8>(float*, int);\n",
         "named elsewhere"),
        (product().replace("float", "double"), "not one of float"),
        (product(a="A[row * K + k] * B[col]"), "other than a product of two"),
        (product(a="(int)A[row * K + k]"), "other than a product of two"),
        (product(b="static_cast<int>(B[k * N + col])"), "other than a product of two"),
        (product(b="B[k * N + row]"), "follow the same index"),
        (product(b="B[k * N + 2 * col]"), "do not lie beside each other"),
        (product(store="C[threadIdx.x] = sum;"), "another thread's place"),
        (product().replace("row < M && ", ""), "No guard says how far `row` goes"),
        (product(launch=LAUNCH.replace("(N + 15)", "(MN + 15)")), "does not say in its x"),
        (product().replace("if (row", "M = M / 2;\n    if (row"), "ahead of the work"),
        (product().replace("float sum = 0.0f;", "float sum = 0.0f; M += 1;"), "ahead of the work"),
        (product(launch="product<<<dim3(N, 4), dim3(16, 16)>>>(A, B, C, M, N, K);"), "does not say in its x"),
        (product().replace("int row = blockIdx.y * blockDim.y", "int row = 4 * blockIdx.y"), "does not count the threads"),
        ("template <int T>\n" + product(), "template"),
        (product(launch=LAUNCH + "\n    " + LAUNCH), "does not count the threads"),
    ],
)  # fmt: skip
def test_other_kernels_are_refused(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)
