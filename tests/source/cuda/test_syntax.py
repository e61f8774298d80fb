import time

import pytest

from kernelwright.source.cuda.syntax import syntax_problem

KERNEL = """#include <cuda_runtime.h>

__global__ void scale(float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; ++k) {
        if (i < n) {
            x[i] *= a;  // not ( closed
        }
    }
}

void run(float* x, int n) {
    scale<<<(n + 255) / 256, 256>>>(x, 2.0f, n);
}
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("threadIdx.x;", "threadIdx.x", 3, "';' is missing"),
        ("if (i < n) {", "if (i < n {", 5, "'(' is not closed"),
        ("if (i < n) {", "if i < n) {", 5, "')' closes nothing"),
        ("x[i] *= a", "x[i *= a", 6, "'[' is not closed"),
        ("        }\n    }", "    }", 5, "'{' is not closed"),
        ("if (i < n) {", "if (i < n)", 7, "'}' closes nothing"),
        ("(x, 2.0f, n);", "(x, 2.0f, n;", 12, "'(' is not closed"),
    ],
)
def test_the_first_place_that_does_not_parse(old: str, new: str, line: int, message: str):
    for prefix in ("", "// größe 核\n", "\n" * 40):
        found = syntax_problem(prefix + KERNEL.replace(old, new, 1))
        assert found is not None
        assert (found.line, found.message) == (line + prefix.count("\n"), message)


RIGHT = [
    "void f(T* dst) {\n    TENSOR_LOCALS\n\n    const int n = ne10 / ne0;\n    TENSOR_SHAPES(dst, n)\n    int m = n;\n}\n",
    KERNEL,
    "",
    "void CUDART_CB done(cudaStream_t stream, cudaError_t status, void* data) { }\n",
    "template class Engine<float>;\n",
    "#ifdef A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n}\n",
    "__global__ void k(float* x\n#ifdef WIDE\n, int n\n#endif\n) { x[0] = 1.0f; }\n",
    "DEFINE_OP(scale)\nint x = 3;\n",
    '__global__ void k(unsigned* x) { asm volatile("st.global.u32 [%0], %1;" ::"l"(x) "r"(1) : "memory"); }\n',
    "const char* text = R\"(a ( b)\"; const char quote = '(';\n",
    "__global__ void __cluster_dims__(2, 1, 1) k(const __grid_constant__ int n) { }\n",
]


@pytest.mark.parametrize("text", RIGHT)
def test_right_code_has_no_problem(text: str):
    assert syntax_problem(text) is None


def test_a_text_that_stops_anywhere_never_raises():
    for end in range(len(KERNEL)):
        found = syntax_problem(KERNEL[:end])
        assert found is None or 0 <= found.line <= KERNEL.count("\n")


def test_long_texts_in_seconds():
    start = time.perf_counter()
    syntax_problem(KERNEL * 400 + "void f( {")
    syntax_problem("(" * 20_000)
    syntax_problem("/*" * 20_000)
    assert time.perf_counter() - start < 30
