"""What of a file a kernel is compiled with."""

import pytest

from kernelwright.source.cuda.needed import needed

HEAD = "#include <cublas_v2.h>\n#include <groups/sorted.h>\n#define TWICE(x) doubled(x)\ncublasHandle_t handle;\n"
DOUBLED = "__device__ float doubled(float x) { return 2 * x; }\n"
KERNEL = "__global__ void k(float* x) { x[threadIdx.x] = TWICE(x[threadIdx.x]); }\n"


@pytest.mark.parametrize(
    "gone",
    [
        "int main() {\n  cublasCreate(&handle);\n  k<<<1, 32>>>(nullptr);\n}\n",
        '__global__ void other(float* x) { asm volatile(""); k(x); }\n',
        'extern "C" void multiply() { cublasSgemm(handle); }\n',
        "template <class T>\nvoid sorted(T* x) { thrust::sort(x, x + 4); }\n",
        "void launch(Context& context) { k<<<1, 32>>>(context.x); }\n",
        "namespace inner { void helper() { multiply(); } }\n",
        'extern "C" float* multiply(cublasHandle_t handle);\nfloat* multiply(cublasHandle_t handle) { return 0; }\n',
        "int run(char** argv);\nint main() { return run(0); }\nint run(char** argv) { k<<<1, 1>>>(0); }\n",
        "void launch(float* x, int n) { cublasSgemm(handle); k<<<1, n>>>(x); }\n",
        "template <class T> void run(T* x) { multiply(x); }\ntemplate void run<int>(int* x);\n",
        "template <class T> struct Sorted { T* sort() { return thrust::sort(this); } };\n",
        "template <> class Sorted<float> { cublasHandle_t handle; };\n",
        "typedef struct {\n  ncclComm_t communicator;\n} Processes;\nProcesses all() { return {}; }\n",
    ],
)
def test_functions_that_nothing_uses_are_left_out(gone: str) -> None:
    text = HEAD + gone + DOUBLED + KERNEL
    left = needed(text, "k", "k")
    assert [len(line) for line in left.split("\n")] == [len(line) for line in text.split("\n")]
    assert left.replace(" ", "").replace("\n", "").replace("namespaceinner{}", "") == (HEAD + DOUBLED + KERNEL).replace(
        " ", ""
    ).replace("\n", "")


@pytest.mark.parametrize(
    "kept",
    [
        "struct Shape { int size() const { return 4; } };\nShape shape;\n",
        "typedef struct { int size; } Shape;\nShape shape;\n",
        "typedef struct Shape { int size; } Form;\nShape shape;\n",
        "typedef int Number;\n",
        "float doubled(float, int);\n",
        'extern "C" int launch(float* x);\nint (*other)(float*) = launch;\n',
        "__device__ float doubled(double x) { return 2 * x; }\n",
        "#ifdef FAST\n__device__ float other(int x) {\n#else\n__device__ float other(long x) {\n#endif\n  return x;\n}\n",
    ],
)
def test_what_may_be_used_stays(kept: str) -> None:
    assert needed(HEAD + kept + DOUBLED + KERNEL, "k", "k") == HEAD + kept + DOUBLED + KERNEL


def test_functions_that_launch_the_kernel_stay_where_one_of_them_is_called() -> None:
    several = "void launch(float* x, int n) { k<<<1, n>>>(x); }\nvoid other(float* x) { k<<<1, 32>>>(x); }\n"
    assert needed(HEAD + DOUBLED + KERNEL + several, "k", "launch") == HEAD + DOUBLED + KERNEL + several
