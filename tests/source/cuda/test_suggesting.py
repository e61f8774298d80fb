"""Workload lines that are made from the text of a CUDA kernel."""

import dataclasses
import re

import pytest

from kernelwright.source.cuda import read
from kernelwright.source.cuda.geometry import with_launches
from kernelwright.source.cuda.kernels import find_kernels
from kernelwright.source.cuda.suggest import lines_from_signature
from kernelwright.values import Refusal


def first_line(text: str) -> str:
    found = lines_from_signature(read(text), find_kernels(text)[0])
    assert not isinstance(found, Refusal), found.reason
    return found[0]


MATMUL = """\
__global__ void mm(const float* A, const double* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < M && col < N) {
    float sum = 0;
    for (int k = 0; k < K; k++) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
  }
}
"""
LAUNCH = """\
extern "C" void solve(const float* a, const double* b, float* c, int m, int n, int k) {
  mm<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);
}
"""
GATHER = """\
__global__ void gather(const half* table, const int* ids, half* out, int dim) {
  out[blockIdx.x * dim + threadIdx.x] = table[ids[blockIdx.x] * dim + threadIdx.x];
}
void embed(const half* table, const int* ids, half* out, int count, int dim) { gather<<<count, dim>>>(table, ids, out, dim); }
"""
UPDATE = """\
__global__ void step(float4* x, unsigned char* mask, int* hits, float eps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (n <= i) return;
  x[i].x += eps;
  if (mask[i]) atomicAdd(hits, 1);
}
"""


SPARSE = """\
__global__ void rows(const int* first, const int* at, const float* values, const float* x, float* y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
  for (int j = first[row]; j < first[row + 1]; ++j) sum += values[j] * x[at[j]];
  y[row] = sum;
}
void spmv(const int* first, const int* at, const float* values, const float* x, float* y, int n) {
  rows<<<(n + 255) / 256, 256>>>(first, at, values, x, y, n);
}
"""
SEGMENTS = """\
__global__ void most(const float* values, const long long* offsets, float* out) {
  long long end = offsets[blockIdx.x + 1];
  float best = 0;
  for (long long i = offsets[blockIdx.x] + threadIdx.x; i < end; i += blockDim.x) best = fmaxf(best, values[i]);
  atomicMax((int*)out + blockIdx.x, __float_as_int(best));
}
void segments(const float* values, const long long* offsets, float* out, int n) { most<<<n, 64>>>(values, offsets, out); }
"""
PARTED = """\
__global__ void rotate(float* x, const float* scale, const int* places, int tokens, int heads, int dim) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, half = dim / 2;
  if (i >= tokens * heads * half) return;
  int head = (i / half) % heads, token = i / (half * heads);
  float* p = x + (token * heads + head) * dim;
  p[i % half + half] *= scale[head] * places[token];
}
void run(float* x, const float* scale, const int* places, int tokens, int heads, int dim) {
  rotate<<<(tokens * heads * dim / 2 + 255) / 256, 256>>>(x, scale, places, tokens, heads, dim);
}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            SPARSE,
            "spmv(first=offsets(n + 1, 16*n, dtype=int32), at=randint(0, 16, 16*n, dtype=int32), "
            "values=randn(16*n), x=randn(16), y=out(n), n=4194304)",
        ),
        (
            SEGMENTS,
            "segments(values=randn(16*n), offsets=offsets(n + 1, 16*n, dtype=int64), out=inout(randn(n)), n=8388608)",
        ),
        (
            PARTED,
            "run(x=inout(randn(tokens*heads*dim)), scale=randn(heads), places=randint(0, 16, tokens, dtype=int32), "
            "tokens=512, heads=512, dim=512)",
        ),
        (
            MATMUL + LAUNCH,
            "solve(a=randn(m*k), b=randn(n*k, dtype=float64), c=out(m*n), m=1024, n=1024, k=1024)",
        ),
        (
            MATMUL,
            "mm<<<dim3((N+15)/16, (M+15)/16), dim3(16, 16)>>>"
            "(A=randn(M*K), B=randn(N*K, dtype=float64), C=out(M*N), M=1024, N=1024, K=1024)",
        ),
        (
            MATMUL + LAUNCH + "int main() { const int n = 1 << 9; solve(a, b, c, 77, n, 2 * n); }",
            "solve(a=randn(m*k), b=randn(n*k, dtype=float64), c=out(m*n), m=77, n=512, k=1024)",
        ),
        (
            GATHER,
            "embed(table=randn(16*dim, dtype=float16), ids=randint(0, 16, count, dtype=int32), "
            "out=out(count*dim, dtype=float16), count=4096, dim=4096)",
        ),
    ],
)
def test_the_first_line(text: str, expected: str) -> None:
    assert first_line(text) == expected


def test_updates_vectors_and_numbers() -> None:
    line = first_line(UPDATE)
    assert line.startswith("step<<<(n+255)/256, 256>>>(x=inout(randn(n*4)), mask=randint(0, 256, n, dtype=uint8), ")
    assert "eps=1e-5, n=16777216" in line


@pytest.mark.parametrize(
    ("parameter", "name"),
    [("float** x", "float** x"), ("Params p", "Params p"), ("torch::Tensor x", "torch::Tensor x")],
)
def test_what_nothing_says_how_to_pass(parameter: str, name: str) -> None:
    text = f"__global__ void f({parameter}, int n) {{ }}"
    found = lines_from_signature(read(text), find_kernels(text)[0])
    assert found == Refusal(f"Nothing says what to pass for `{name}` of f.", 0)


TILED = """\
template <int TILE, class T> __global__ void scale(T* y, const T* x, int n, bool up) {
  int i = blockIdx.x * TILE + threadIdx.x;
  if (i < n * TILE) y[i] = x[i];
}
"""


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        (TILED, "scale<32, float><<<(32*n+255)/256, 256>>>(y=out("),
        (
            TILED + "int main() { scale<64><<<4, 64>>>((double*)0, (double*)0, 4, true); }",
            "scale<64, float><<<(64*n+63)/64, 64>>>(",
        ),
        (
            "__global__ void k(real* y, int3 by, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; "
            "if (i < n) y[i] = 1; }",
            "k<<<(n+255)/256, 256>>>(y=out(n), by=(1, 1, 1), n=",
        ),
        (
            "__global__ void k(float* y, int n) { y[blockIdx.x * blockDim.x + threadIdx.x] = n; }\n"
            "void library(float* y, int n) { k<<<n, 32>>>(y, n); cublasSgemm(y); }",
            "k<<<n, 32>>>(y=out(32*n), ",
        ),
    ],
)
def test_a_kernel_that_is_launched_by_its_line(text: str, begins: str) -> None:
    assert first_line(text).startswith(begins)


SCALED = "__global__ void k(float* y, const float* x, int n, int m) {{ {} }}\n"
EACH = SCALED.format("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i];")


@pytest.mark.parametrize(
    ("launching", "launch"),
    [
        ("int main() { int n = 1 << 20; dim3 grid((n + 99) / 100), block(100); k<<<grid, block>>>(y, x, n, 2); }",
         "<<<(n + 99) / 100, 100>>>"),
        ("int main() { const int t = 64; dim3 b(t, 2); dim3 g(up(h, b.x), h % 3 ? 2 : 1, 5); k<<<g, b>>>(y, x, h, 2); }\n"
         "#define up(a, b) (((a) + (b) - 1) / (b))",
         "<<<dim3((n + 63) / 64, 2, 5), dim3(64, 2)>>>"),
        ("int main() { k<<<ceil(size / 32.0), 32, 32 * sizeof(float)>>>(y, x, size, 2); }", "<<<(n + 31) / 32, 32, 128>>>"),
        ("int main() { k<<<size / 32, dim3(32)>>>(y, x, size, 2); }", "<<<n / 32, 32>>>"),
        ("int main() { dim3 g, b; b.x = 64; b.y = 2; g.y = (size + b.x / 32 - 1) / (b.x / 32); k<<<g, b>>>(y, x, size, 2); }",
         "<<<dim3(1, (n + 1) / 2), dim3(64, 2)>>>"),
        ("int main() { k<<<cdiv(rows * 4, 8), 8>>>(y, x, n, rows); }", "<<<((m * 4) + 7) / 8, 8>>>"),
        ("int blocks(int a) { return (a + 7) / 8; } int main() { k<<<blocks(n), 8>>>(y, x, n, 1); }", "<<<(n + 7) / 8, 8>>>"),
    ],
)  # fmt: skip
def test_a_launch_is_told_in_the_parameters_of_the_kernel(launching: str, launch: str) -> None:
    assert first_line(f"{EACH}{launching}").partition("(y=")[0] == f"k{launch}"


def test_the_size_of_a_block_is_that_of_the_template() -> None:
    text = "template <int SIDE> __global__ void k(float* y, int n) { y[blockIdx.x * n + threadIdx.x] = threadIdx.y; }\n"
    text += """void run(float* y, int block_size, int n, Handle& handle) {
  dim3 threads(block_size, block_size);
  if (block_size == 8) k<8><<<n / threads.x, threads>>>(y, n);
  else k<16><<<n / threads.x, threads>>>(y, n);
}"""
    found = lines_from_signature(read(text), find_kernels(text)[0])
    assert isinstance(found, tuple)
    assert {one.partition("(y=")[0] for one in found} >= {f"k<{n}><<<n / {n}, dim3({n}, {n})>>>" for n in (8, 16)}
    flat = text.replace("k<8>", "k<SIDE>").replace("k<16>", "k<SIDE>")
    assert "dim3(128, 128)" not in str(lines_from_signature(read(flat), find_kernels(flat)[0]))


@pytest.mark.parametrize(
    ("block", "number"), [("dim3(block_size, block_size)", 16), ("block_size * block_size", 16), ("block_size", 128)]
)
def test_the_side_of_a_block_is_no_whole_block(block: str, number: int) -> None:
    launcher = "void run(float* y, const float* x, int n, int block_size)"
    text = SCALED.format("y[0] = x[0];") + f"{launcher} {{ k<<<n / block_size, {block}>>>(y, x, n, 2); }}\n"
    assert f"block_size={number})" in first_line(text)


DYNAMIC = SCALED.format("extern __shared__ float a[]; a[threadIdx.x] = x[threadIdx.x]; y[threadIdx.x] = a[0];")


@pytest.mark.parametrize(
    ("launching", "launch"),
    [
        ("void run(float* y, float* x, int n, int threads_per_block) {"
         " k<<<n / threads_per_block, threads_per_block, n * sizeof(float)>>>(y, x, n, 2); }", "<<<n / 128, 128, n * 4>>>"),
        ("int main() { cudaDeviceProp p; k<<<2 * p.multiProcessorCount, n, unknown>>>(y, x, n, 2); }", "<<<8, n, 32768>>>"),
        ("int main() { k<<<numSMs, p.maxThreadsPerBlock / n>>>(y, x, n, 2); }", "<<<4, 1024 / n, 32768>>>"),
        ("", "<<<(n+255)/256, 256, 32768>>>"),
        ("void run(float* y, float* x, int n, G& g) { k<<<g, 64, unknown>>>(y, x, n, 2); }", "<<<(n+63)/64, 64, 32768>>>"),
    ],
)  # fmt: skip
def test_what_a_launch_leaves_open_gets_usual_numbers(launching: str, launch: str) -> None:
    text = DYNAMIC + launching
    kernel = dataclasses.replace(find_kernels(text)[0], entry="k")
    found = lines_from_signature(read(text), kernel)
    assert isinstance(found, tuple)
    assert found[0].partition("(y=")[0] == f"k{launch}"


@pytest.mark.parametrize(
    "launching",
    [
        "int main() { k<<<unknown, 64>>>(y, x, n, 2); }",
        "int main() { int g = n / 64; g++; k<<<g, 64>>>(y, x, n, 2); }",
        "int main() { k<<<4, 64>>>(y, x, 256, 2); }",  # which says nothing of other sizes
        "int main() { k<<<f(n), 64>>>(y, x, n, 2); }",
        "int main() { dim3 g; g.x = n / 64; if (big) g.x = 4; k<<<g, 64>>>(y, x, n, 2); }",
        "int main() { dim3 g; g.x *= n; k<<<g, 64>>>(y, x, n, 2); }",
        "int main() { dim3 g(n); if (big) g = 4; k<<<g, 64>>>(y, x, n, 2); }",
    ],
)
def test_a_launch_that_is_not_told_whole_leaves_its_block(launching: str) -> None:
    assert "k<<<(n+63)/64, 64>>>" in first_line(EACH + launching)


TILE = """\
template <int BM, int TM> __global__ void mm(int M, int N, int K, float* A, float* B, float* C) {
  A += blockIdx.x * BM * K;
  C += blockIdx.x * BM;
  for (int i = 0; i < K; i += TM) A[i] = 0;
  reinterpret_cast<float4*>(&B[threadIdx.x])[0].x += C[threadIdx.x];
}
"""
RUNNER = """\
#define CEIL(m, n) (((m) + (n) - 1) / (n))
void run(int m, int n, int k, float* a, float* b, float* c) {
  const unsigned TM = 4;
  if (m >= 128) {
    const unsigned BM = 128;
    dim3 gridDim(CEIL(n, BM), CEIL(m, BM));
    mm<BM, TM * 2><<<gridDim, BM / TM>>>(m, n, k, a, b, c);
  } else {
    const unsigned BM = 32;
    mm<BM, TM><<<CEIL(m, BM), BM>>>(m, n, k, a, b, c);
  }
}
"""


def lines_beside(text: str, *beside: str) -> tuple[str, ...]:
    kernel = find_kernels(text)[0]
    found = lines_from_signature(with_launches(read(text), kernel.name, beside), kernel)
    assert not isinstance(found, Refusal), found.reason
    return found


def test_what_another_file_launches_a_kernel_with() -> None:
    found = lines_beside(TILE, "void other() {}", RUNNER)
    assert found[0].startswith("mm<128, 8><<<dim3((N + 127) / 128, (M + 127) / 128), 32>>>(M=1024, N=1024, K=1024, ")
    of_small = [one for one in found if one.startswith("mm<32, 4>")]
    assert of_small[0].startswith("mm<32, 4><<<(M + 31) / 32, 32>>>(M=1024, ")
    assert not any(one.startswith("mm<32, 4><<<dim3(") for one in found)  # each with its own launch


def test_pointers_that_are_moved_or_written_through_are_whole_and_kept() -> None:
    assert "A=inout(randn(M*K)), B=inout(randn(K*N)), C=inout(randn(M*N))" in lines_beside(TILE, RUNNER)[0]


def test_a_file_with_a_kernel_of_the_same_name_launches_its_own() -> None:
    own = "template <int A, int B> __global__ void mm(int M) {}\n" + RUNNER
    assert lines_beside(TILE, own) == lines_beside(TILE)


def test_numbers_and_types_of_headers() -> None:
    text = SCALED.format("int i = blockIdx.x * WIDTH + threadIdx.x; if (i < n) y[i] = x[i];").replace("float", "real")
    text += "int main() { k<<<n / WIDTH, WIDTH>>>(y, x, n, 2); }\n"
    header = "#define WIDTH (8 * LANES)\nconst int LANES = 12;\ntypedef double real;\n"
    assert lines_beside(text, header)[0].startswith(
        "k<<<n / 96, 96>>>(y=out(n, dtype=float64), x=randn(n, dtype=float64)"
    )


def test_shared_memory_that_a_launch_asks_for_is_given_where_nothing_else_tells() -> None:
    launch = "void run(float* y, float* x, int n, G& g) {{ k<<<g, 64{}>>>(y, x, n, 2); }}\n"
    assert first_line(EACH + launch.format(", bytes")).startswith("k<<<(n+63)/64, 64, 32768>>>(")
    assert first_line(EACH + launch.format("")).startswith("k<<<(n+63)/64, 64>>>(")
    assert first_line(EACH + launch.format(", 0, stream")).startswith("k<<<(n+63)/64, 64>>>(")


def test_without_a_size_the_blocks_end_where_the_tensors_do() -> None:
    text = (
        "__global__ void k(float* y, const float* x) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[i]; }\n"
    )
    assert first_line(text) == "k<<<(4096+255)/256, 256>>>(y=out(4096), x=randn(4096))"


def test_unsigned_integers_are_never_below_zero() -> None:
    text = "__global__ void k({}* places, int n) {{ places[blockIdx.x * n] ^= 1; }}\n"
    for kind in ("unsigned int", "uint32_t", "size_t", "uint2"):
        assert "places=inout(randint(0, 16, " in first_line(text.format(kind))
    assert "places=inout(randint(-8, 8, " in first_line(text.format("int"))


def test_small_lines_end_with_equal_sizes_and_with_long_rows() -> None:
    text = "__global__ void k(float* x, int rows, int groups, int columns) { x[f(rows, groups, columns)] = 1; }\n"
    found = lines_beside(text)
    assert [one.partition("(x=")[2] for one in found[-3:]] == [
        "inout(randn(4096)), rows=8, groups=8, columns=8)",
        "inout(randn(32768)), rows=32, groups=32, columns=32)",
        "inout(randn(16384)), rows=4, groups=4, columns=512)",
    ]


PADDED = """\
__global__ void scale(const float* x, float* y, int B, int T, int V, int P) {
  for (int j = threadIdx.x; j < V; j += blockDim.x) y[blockIdx.x * P + j] = 2 * x[blockIdx.x * P + j];
}
void solve(const float* x, float* y, int B, int T, int V, int P) { scale<<<B * T, 128>>>(x, y, B, T, V, P); }
"""


def test_rows_do_not_reach_into_the_next_one() -> None:
    found = lines_from_signature(read(PADDED), find_kernels(PADDED)[0])
    assert not isinstance(found, Refusal)
    sizes = [tuple(int(re.search(rf"\b{name}=(\d+)", line)[1]) for name in "VP") for line in found[:3]]  # type: ignore[index]
    assert "out(B*T*P - P + V)" in found[0]
    assert sizes[0][0] == sizes[0][1] >= 64  # the line for timing
    assert all(width < pitch for width, pitch in sizes[1:])


def test_a_small_line_has_whole_numbers_that_rise() -> None:
    """A chain of random indices may never end, and random places to write to race."""
    text = (
        "__global__ void k(const int* next, uint2* at, int* y, int n) { y[next[next[threadIdx.x]]] = at[0].x * n; }\n"
    )
    assert (
        "k<<<(n+255)/256, 256>>>(next=arange(4096, dtype=int32), at=arange(4096*2, dtype=int32), "
        "y=inout(randint(-8, 8, 4096, dtype=int32)), n=8)"
    ) in lines_beside(text)


PAINT = """\
enum Mode { PLAIN = LEAST + 1, DOUBLED };
#define LEAST 1
typedef enum { ONE, TWO } Count;
__global__ void paint(int* out, int width, int height, enum Mode mode, Count count) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = mode == PLAIN ? x + count : 2 * x;
}
"""


def test_enumerations_are_given_their_first_number_and_launchers_their_grid() -> None:
    launcher = "(dim3 grid, dim3 block, int bytes, int* out, int width, int height, Mode mode, Count count)"
    launch = f"void run{launcher} {{ paint<<<grid, block, bytes>>>(out, width, height, mode, count); }}\n"
    assert first_line(PAINT + launch) == (
        "run(grid=((width + 15)//16, (height + 15)//16, 1), block=(16, 16, 1), bytes=32768, "
        "out=out(width*height, dtype=int32), width=4096, height=4096, mode=2, count=0)"
    )


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        ("float* x, int n", "x=out(n), n=16777216"),
        ("float* x", "x=out(4096)"),
    ],
)
def test_a_grid_of_one_axis_is_given_to_a_launcher(parameters: str, arguments: str) -> None:
    guard = "if (i < n) " if "n" in parameters else ""
    size = "n" if "n" in parameters else "4096"
    text = f"__global__ void k({parameters}) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {guard}x[i] = 1; }}\n"
    text += f"void run(dim3 g, dim3 b, {parameters}) {{ k<<<g, b>>>({'x, n' if guard else 'x'}); }}\n"
    assert first_line(text) == f"run(g=(({size} + 255)//256, 1, 1), b=(256, 1, 1), {arguments})"


def test_an_enumeration_of_a_header_is_given_a_number() -> None:
    text = "__global__ void k(float* x, Mode mode) { x[blockIdx.x * blockDim.x + threadIdx.x] = mode; }\n"
    assert lines_beside(text, "enum class Mode : int { A = 3, B };\n")[0].endswith("mode=3)")
    assert lines_beside(text, "#ifndef H\n#define H\nenum Mode { A = 5, B };\n#endif\n")[0].endswith("mode=5)")


def test_types_of_headers_count_but_for_those_that_a_build_chooses() -> None:
    text = "__global__ void k(real* x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }\n"
    guarded = '#ifndef H\n#define H\nextern "C" {{\n{}}}\n#endif\n'
    assert "float64" in lines_beside(text, guarded.format("typedef double real;\n"))[0]
    chosen = guarded.format("#ifdef WIDE\ntypedef double real;\n#else\ntypedef half real;\n#endif\n")
    found = lines_beside(text, chosen)
    assert "dtype" not in found[0]
    assert any("bfloat16" in one for one in found)
