"""cuda.shared-tile: the tiles of products, distances and transposes, and what does not go into tiles."""

import pytest
import torch

from kernelwright.macro.strategies.cuda_shared_tile import STRATEGY
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from macro.cuda_files import refusal, rewritten

KERNEL = """\
__global__ void product(const {type}* A, const {type}* B, {type}* C, int M, int N, int K) {{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
{body}
}}

extern "C" void solve(const {type}* A, const {type}* B, {type}* C, int M, int N, int K) {{
    dim3 block({block});
    product<<<dim3((N + 15) / 16, (M + 15) / 16), block>>>(A, B, C, M, N, K);
}}
"""
LOOP = "sum += A[row * K + k] * B[k * N + col];"


def product(loop: str = LOOP, *, guard: str = "row < M && col < N", block: str = "16, 16", type: str = "float") -> str:
    body = f"    if ({guard}) {{\n        float sum = 0.0f;\n        for (int k = 0; k < K; ++k) {{ {loop} }}\n"
    body += "        C[row * N + col] = sum;\n    }"
    return KERNEL.format(body=body, block=block, type=type)


def tiled(text: str) -> list[str]:
    """The lines that the last variant adds: tiles as large as the block."""
    after = rewritten(STRATEGY, text)[-1]
    return [line.strip() for line in after.splitlines() if line not in text.splitlines()]


def test_products_are_filled_with_zeros() -> None:
    assert tiled(product()) == [
        "constexpr int TILE = 16;  // as the blocks at the launch",
        "__shared__ float As[TILE][TILE];",
        "__shared__ float Bs[TILE][TILE];",
        "const int tx = threadIdx.x, ty = threadIdx.y;",
        "float sum = 0.0f;",
        "for (int k0 = 0; k0 < K; k0 += TILE) {",
        "As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;",
        "Bs[ty][tx] = col < N && k0 + ty < K ? B[(k0 + ty) * N + col] : 0.0f;",
        "__syncthreads();",
        "#pragma unroll",
        "for (int k = 0; k < TILE; ++k) {",
        "sum += As[ty][k] * Bs[k][tx];",
        "}",
        "__syncthreads();",
    ]


@pytest.mark.parametrize(
    ("loop", "lines"),
    [
        ("float d = A[row * K + k] - B[k * N + col]; sum += d * d;",
         ["for (int k = 0; k < TILE && k0 + k < K; ++k) {", "float d = As[ty][k] - Bs[k][tx]; sum += d * d;"]),
        ("sum += A[row * K + k] * B[k * N + col] * k;", ["sum += As[ty][k] * Bs[k][tx] * (k0 + k);"]),
        ("sum = fmaf(A[row * K + k], B[k * N + col], sum);", ["sum = fmaf(As[ty][k], Bs[k][tx], sum);", "#pragma unroll"]),
        ("sum += A[k * M + row] * B[k * N + col];",
         ["const int load_row = blockIdx.y * blockDim.y + tx;", "sum += As[k][ty] * Bs[k][tx];",
          "As[ty][tx] = load_row < M && k0 + ty < K ? A[(k0 + ty) * M + load_row] : 0.0f;"]),
        ("sum += A[row * K + k] * B[col * K + k];",
         ["__shared__ float Bs[TILE][TILE + 1];", "const int load_col = blockIdx.x * blockDim.x + ty;",
          "Bs[ty][tx] = load_col < N && k0 + tx < K ? B[load_col * K + k0 + tx] : 0.0f;", "sum += As[ty][k] * Bs[tx][k];"]),
    ],
)  # fmt: skip
def test_other_loops_and_layouts(loop: str, lines: list[str]) -> None:
    assert set(lines) <= set(tiled(product(loop)))


def test_a_bound_of_another_row_keeps_the_loads_in_place() -> None:
    text = product("sum += A[k * M + row] * B[k * N + col];", guard="other < M && col < N")
    text = text.replace("    int col =", "    int other = 2 * threadIdx.y;\n    int col =")
    assert "As[ty][tx] = other < M && k0 + tx < K ? A[(k0 + tx) * M + row] : 0.0f;" in tiled(text)


def test_early_returns_move_behind_the_barriers() -> None:
    body = "    if (row >= M || col >= N) return;\n    float sum = 0.0f;\n    for (int k = 0; k < K; ++k) {\n"
    body += f"        {LOOP}\n    }}\n    C[row * N + col] = sum;"
    (after,) = rewritten(STRATEGY, KERNEL.format(body=body, block="16, 16", type="float"))
    assert (
        "        __syncthreads();\n    }\n    if (row >= M || col >= N) return;\n    C[row * N + col] = sum;\n}"
        in after
    )
    assert "As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;" in after


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (product(block="32, 8"), "32 x 8; tiles need square ones"),
        (product(block="n, n"), "no number in this file"),
        (product(type="float4"), "not a plain number"),
        (product(guard="row * N + col < M * N"), "both thread axes at once"),
        (product("if (k > 2) sum += A[row * K + k] * B[k * N + col];"), "branches"),
        (product("sum += A[row * K + k] * B[k];"), "do not read the same elements along both"),
        (product("int i = row * K + k; sum += A[i] * B[k * N + col];"), "a variable of the loop's body"),
        (product("C[k] = 0; sum += A[row * K + k] * B[k * N + col];"), "more than a local variable"),
        (product().replace("++k", "k += 2"), "steps of 1"),
        (product("sum += A[row * K + k] * B[k * N + col] * s;").replace("float sum", "float s = f(A, row); float sum"),
         "behind the guard"),
        (product("sum += A[row * K + k] * B[k * N + col] * C[row];"), "beyond the edge"),
        (product("sum += A[row * K + k] * B[k * N + col] * *(C + row);"), "may be any element"),
        (product().replace("k < K", "k < row"), "not the same for all threads"),
        (product().replace("float sum = 0.0f;", "float sum = 0.0f; row += 1;"), "ahead of the work"),
        (product().replace("float sum = 0.0f;", "__shared__ float s[4]; float sum = 0.0f;"), "shared memory already"),
        ("#define AT(i) A[(i) * K + k]\n" + product("sum += AT(row) * B[k * N + col];"), "its place does not show"),
    ],
)  # fmt: skip
def test_what_does_not_go_into_tiles_is_refused(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)


COPY = """\
__global__ void transpose(const float* in, float* out, int M, int N) {{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < N && y < M) {copy}
}}

extern "C" void solve(const float* in, float* out, int M, int N) {{
    transpose<<<dim3((N + 31) / 32, (M + 31) / 32), dim3(32, 32)>>>(in, out, M, N);
}}
"""


def test_a_transpose_stores_along_rows() -> None:
    assert tiled(COPY.format(copy="out[x * M + y] = 2.0f * in[y * N + x];")) == [
        "constexpr int TILE = 32;  // as the blocks at the launch",
        "__shared__ float tile[TILE][TILE + 1];",
        "const int tx = threadIdx.x, ty = threadIdx.y;",
        "if (x < N && y < M) tile[ty][tx] = in[y * N + x];",
        "__syncthreads();",
        "const int store_x = blockIdx.x * blockDim.x + ty;",
        "const int store_y = blockIdx.y * blockDim.y + tx;",
        "if (store_x < N && store_y < M) out[store_x * M + store_y] = 2.0f * tile[tx][ty];",
    ]


def test_a_transpose_loads_along_rows() -> None:
    lines = tiled(COPY.format(copy="out[y * N + x] = in[x * M + y];"))
    assert "if (load_x < N && load_y < M) tile[tx][ty] = in[load_x * M + load_y];" in lines
    assert "if (x < N && y < M) out[y * N + x] = tile[ty][tx];" in lines


def test_a_flat_block_goes_through_a_tile_of_a_transpose() -> None:
    before = COPY.format(copy="out[x * M + y] = 2.0f * in[y * N + x];")
    first = rewritten(STRATEGY, before)[0]
    assert [line.strip() for line in first.splitlines() if line not in before.splitlines()] == [
        "__shared__ float tile[32][32 + 1];",
        "#pragma unroll",
        "for (int r = threadIdx.y; r < 32; r += 8) {",
        "const int x = blockIdx.x * 32 + threadIdx.x;",
        "const int y = blockIdx.y * 32 + r;",
        "if (x < N && y < M) tile[r][threadIdx.x] = in[y * N + x];",
        "}",
        "__syncthreads();",
        "#pragma unroll",
        "for (int r = threadIdx.y; r < 32; r += 8) {",
        "const int x = blockIdx.x * 32 + r;",
        "const int y = blockIdx.y * 32 + threadIdx.x;",
        "if (x < N && y < M) out[x * M + y] = 2.0f * tile[threadIdx.x][r];",
        "}",
        "transpose<<<dim3((N + 31) / 32, (M + 31) / 32), dim3(32, 8)>>>(in, out, M, N);",
    ]


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("int x = b", "int i = threadIdx.x, x = b"),
        ("x < N && y", "x < N && x != y && y"),
        ("if (x <", "int z = x + 1;\n    if (x <"),
        ("x < N &&", "2 * x < N &&"),
    ],
)
def test_other_transposes_keep_their_blocks(was: str, becomes: str) -> None:
    text = COPY.format(copy="out[x * M + y] = in[y * N + x];").replace(was, becomes, 1)
    assert len(rewritten(STRATEGY, text)) == 1


@pytest.mark.parametrize(
    ("copy", "reason"),
    [
        ("out[y * N + x] = in[y * N + x];", "do not run along different axes"),
        ("out[x * M + y] = in[y * N + x] + x;", "depends on the thread"),
        ("out[x * M + y] = in[y * N + x] + in[x];", "more than copy one element"),
    ],
)
def test_other_copies_are_refused(copy: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, COPY.format(copy=copy))


BY_LINE = """\
// workload: {name}<<<dim3((N + 7) / 8, (M + 7) / 8), {block}>>>(A=randn(M*K), B=randn(K*N), C=out(M*N), M=64, N=64, K=64)
"""
TURNED = """\
__global__ void turned(const float* A, const float* B, float* C, int M, int N, int K) {
    const unsigned int x = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < N && y < M) C[x * M + y] = A[y * N + x];
}
"""


@pytest.mark.parametrize(("text", "name"), [(product(), "product"), (TURNED, "turned")], ids=["product", "transpose"])
def test_a_kernel_of_a_line_asks_for_the_blocks_of_the_line(monkeypatch, text: str, name: str) -> None:
    """With other blocks, as others may launch it, it does what it did."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    text = BY_LINE.format(name=name, block="dim3(8, 8)") + text
    after = rewritten(STRATEGY, text, name)[-1]
    assert "if (blockDim.x == 8 && blockDim.y == 8 && blockDim.z == 1) {\n        constexpr int TILE = 8;" in after
    m, n, k = 21, 13, 13
    a, b = torch.randn(m, k), torch.randn(k, n)
    loaded = [LANGUAGE.load("/nowhere/tiles.cu", one, "tiles") for one in (text, after)]
    for block in ((8, 8, 1), (16, 4, 1), (5, 8, 1), (32, 1, 1)):
        grid, found = (-(-n // block[0]), -(-m // block[1])), [torch.full((m, n), torch.nan) for _ in loaded]
        for module, c in zip(loaded, found, strict=True):
            getattr(module, name)[grid, block, 0](a, b, c, m, n, k)
        assert torch.allclose(*found, atol=1e-5)
        assert not found[0].isnan().any()
    for module in loaded:
        LANGUAGE.unload(module)


@pytest.mark.parametrize("block", ["64", "dim3(16, 8)", "dim3(8, 8, 2)"])
def test_blocks_of_a_line_that_are_no_tile_are_refused(block: str) -> None:
    assert "tiles need square ones" in refusal(STRATEGY, BY_LINE.format(name="product", block=block) + product())
