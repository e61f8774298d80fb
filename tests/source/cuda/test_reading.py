"""What is read of a CUDA text: definitions, launches, index expressions and accesses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.source.cuda import parse, read
from kernelwright.source.cuda.accesses import accesses, flat_index
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.kernels import find_kernels
from kernelwright.source.polynomials import Polynomial

TEXT = """\
#include <cuda_runtime.h>
#define TILE 16
constexpr int ROWS = TILE * 2 + 1;

template <int WIDTH, typename T>
__global__ void __launch_bounds__(256, 2) scale(const float* __restrict__ x, T* y, int n) {
  __shared__ float tile[ROWS][WIDTH + 1];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int k = 0; k < n; ++k) y[i * n + k] += x[(size_t)i * n + k];
  tile[threadIdx.y][threadIdx.x] = x[i];
}

namespace inner {
static __device__ float twice(float v) { return 2 * v; }
extern "C" { __global__ void count(int* bins, const unsigned char *data) { atomicAdd(&bins[data[threadIdx.x]], 1); } }
}

extern "C" void run(const float* x, float* y, int n, cudaStream_t stream) {
  dim3 block(TILE, 8);
  scale<16, float><<<(n + 127) / 128, block, 0, stream>>>(x, y, n);
}

int main() { run(nullptr, nullptr, 5, 0); }
"""


def test_definitions() -> None:
    file = read(TEXT)
    assert [one.name for one in file.functions] == ["scale", "twice", "count", "run", "main"]
    assert [one.name for one in file.kernels] == ["scale", "count"]
    scale = file.function("scale")
    assert scale is not None
    assert (scale.templates, scale.bounds) == (("WIDTH", "T"), ("256", "2"))
    assert [(one.name, one.base, one.pointers, one.is_const, one.is_restrict) for one in scale.parameters] == [
        ("x", "float", 1, True, True),
        ("y", "T", 1, False, False),
        ("n", "int", 0, False, False),
    ]
    assert [one.is_host for one in file.functions] == [False, False, False, True, True]


@pytest.mark.parametrize("written", ["__restrict__", "__restrict", "restrict", "RESTRICT", "C10_RESTRICT"])
def test_a_macro_for_restrict(written: str) -> None:
    function = read(f"__global__ void f(const float* {written} x, int n) {{}}\n").function("f")
    assert function is not None
    assert [one.is_restrict for one in function.parameters] == [True, False]


def test_a_launch() -> None:
    file = read(TEXT)
    (launch,) = file.launches
    content = file.source.content
    parts = (launch.grid, launch.block, launch.shared, launch.stream)
    assert [content(part) for part in parts if part is not None] == ["(n + 127) / 128", "block", "0", "stream"]
    assert (launch.kernel, launch.function.name) == ("scale", "run")
    assert [content(argument) for argument in launch.arguments] == ["x", "y", "n"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [("TILE", 16), ("ROWS", 33), ("TILE << 2", 64), ("n", None), ("TILE / 0", None), ("4u * TILE", 64)],
)
def test_numbers(written: str, expected: int | None) -> None:
    assert read(TEXT).number(written) == expected


def test_accesses_and_their_indices() -> None:
    names = Names(read(TEXT), read(TEXT).kernels[0])
    found = [(one.base, one.space, one.kind, len(one.loops)) for one in accesses(names)]
    assert found == [
        ("y", "global", "update", 1),
        ("x", "global", "load", 1),
        ("tile", "shared", "store", 0),
        ("x", "global", "load", 0),
    ]
    index = flat_index(names, accesses(names)[0])
    assert index is not None
    step = index.coefficient("threadIdx.x")
    assert step == Polynomial(((("n",), 1),))
    assert index.coefficient("k") == Polynomial((((), 1),))


def test_an_atomic_and_an_index_that_is_read() -> None:
    names = Names(read(TEXT), read(TEXT).kernels[1])
    assert [(one.base, one.kind) for one in accesses(names)] == [("bins", "atomic"), ("data", "load")]


def test_a_local_pointer_counts_as_the_parameter_that_it_starts_from() -> None:
    text = "__global__ void f(float* x, int n) { float* row = x + blockIdx.x * n; row[threadIdx.x] = 0; }"
    names = Names(read(text), read(text).kernels[0])
    (access,) = accesses(names)
    assert (access.base, access.kind) == ("x", "store")
    index = flat_index(names, access)
    assert index is not None
    assert index.names == {"blockIdx.x", "n", "threadIdx.x"}


def test_entries() -> None:
    assert [(one.name, one.entry) for one in find_kernels(TEXT)] == [("scale", "run"), ("count", "count")]
    assert find_kernels(TEXT, {"main"})[0].entry == "main"


@pytest.mark.parametrize(
    ("launching", "entry"),
    [
        ("float* kept[2]; void run(float* x, int n) { k<<<1, n>>>(kept[n], x); }", "k"),
        ("void run(float* x, int n) { k<<<1, n>>>((float*)partial + n, x); }", "k"),
        ("void run(float* x, int n) { float* made; cudaMalloc(&made, n); k<<<1, n>>>(made, x + n); }", "run"),
        ("void run(float* x, int n) { k<<<1, n>>>(NULL, &x[n]); }", "run"),
        ("void run(float* x, int n) { k<<<1, n>>>(cast(kept), x); }", "run"),
        ("void run(float* x, int n) { if (n) k<<<1, n>>>(x + n, x); else k<<<1, 1>>>(kept, x); }", "run"),
    ],
)
def test_what_launches_a_kernel_on_arrays_of_others_is_no_entry(launching: str, entry: str) -> None:
    (kernel,) = find_kernels(f"__global__ void k(float* y, const float* x) {{ y[threadIdx.x] = x[0]; }}\n{launching}")
    assert kernel.entry == entry


@pytest.mark.parametrize(
    "gap",
    ["__cluster_dims__(2, 1, 1) ", "__maxnreg__(64) ", "__launch_bounds__(256) ", "__forceinline__ ", "/* 𝄞é */ "],
)
def test_what_the_grammar_does_not_know_hides_nothing(gap: str) -> None:
    text = f"__global__ void {gap}f(float* __restrict__ x) {{ x[0] = 1; }}\n"
    source = parse(text)
    (function,) = read(text).functions
    start, end = source.span(function.name_node)
    assert text[start:end] == "f"
    assert not source.tree.root_node.has_error


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, len(TEXT)),
    st.integers(0, 12),
    st.sampled_from(["", "x", "}", "{", "\n", "é", '"', "/*", "int q = 3;"]),
)
def test_a_tree_made_from_the_one_before_is_the_tree(start: int, length: int, new: str) -> None:
    parse(TEXT)
    changed = TEXT[:start] + new + TEXT[start + length :]
    typed = str(parse(changed).tree.root_node)
    parse("int another_file;" * 40)
    parse.__globals__["_parsed"].cache_clear()
    assert typed == str(parse(changed).tree.root_node)
