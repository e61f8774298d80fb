"""What a language owes the worker, asked of CUDA C++, whose entries write into what they are given."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import kernelwright
from kernelwright import words
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.languages import language_of
from kernelwright.proof.worker.toolchain import building
from kernelwright.proof.worker.toolchain.unsupported import unsupported
from kernelwright.source.cuda.kernels import find_kernels
from kernelwright.values import FailureKind

CUDA = language_of("cuda-cpp")
PATH = "/nowhere/text.cu"
TEXT = """\
// a kernel
__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
namespace inner {
static void scale(const float* x, float* y, int n) { twice<<<(n + 31) / 32, 32>>>(x, y, n); }
}
extern "C" int number(int a, double b = 2) { return a * int(b); }
"""


def test_a_text_is_loaded_with_its_entries() -> None:
    module = CUDA.load("/nowhere/text.cu", TEXT, "subject")
    y = torch.empty(8)
    module.scale(torch.ones(8), y, n=8)
    assert y.tolist() == [2.0] * 8
    assert module.number(21) == 42
    assert module.__file__
    CUDA.unload(module)


SAME_NAME = """\
typedef float real;
__global__ void twice(const real* x, real* __restrict__ y, const int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
void twice(const real* x, real* y, int n, int block) { twice<<<(n + block - 1) / block, block>>>(x, y, n); }
void shifted(real* x, int n) {}
void shifted(real* x) {}
"""


def test_a_kernel_is_told_by_its_launch_from_a_host_function_of_its_name() -> None:
    (kernel,) = find_kernels(SAME_NAME)
    assert (kernel.name, kernel.entry, kernel.entry_start_line) == ("twice", "twice", 1)
    for text in (SAME_NAME, CUDA.widened(SAME_NAME)):
        module = CUDA.load(PATH, text, "subject")
        dtype = torch.float32 if text == SAME_NAME else torch.float64
        y = torch.zeros(8, dtype=dtype)
        module.twice[(2,), (4,), 0](torch.ones(8, dtype=dtype), y, 7)
        assert y.tolist() == [2.0] * 7 + [0.0]
        with pytest.raises(TypeError, match="shifted is defined more than once: name a host function that calls it"):
            module.shifted(y)
        CUDA.unload(module)


@pytest.mark.parametrize(
    "before",
    [
        "__device__ float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, 0, 0, 0); }\n",
        "template <class T> T id(T a) { return a; }\ntemplate <> int id<int>(int a) { return a + 0; }\n",
        "struct Pair { int a, b; } pair = {1, 2};\n",
    ],
)
def test_functions_behind_what_is_no_function_by_name_are_entries(before: str) -> None:
    module = CUDA.load(PATH, before + TEXT, "subject")
    y = torch.zeros(4)
    module.twice[(1,), (4,), 0](torch.ones(4), y, 4)
    assert y.tolist() == [2.0] * 4
    CUDA.unload(module)


TEMPLATE = """\
template <typename T, int EACH> __global__ void add(T* y, T a, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * EACH;
  for (int k = 0; k < EACH; k++) if (i + k < n) y[i + k] += a;
}
// workload: add<float, 2><<<1, 4>>>(y=inout(randn(8)), a=1.0f, n=8)
// workload: add<int,4><<<1, 2>>>(y=inout(randint(0, 8, 8, dtype=int32)), a=1, n=8)
"""


def test_a_template_is_instantiated_by_the_lines_that_launch_it() -> None:
    module = CUDA.load(PATH, TEMPLATE, "subject")
    whole, real = torch.zeros(8, dtype=torch.int32), torch.zeros(8)
    module.add[(1,), (4,), 0, "float, 2"](real, 1.5, 8)
    module.add[(1,), (2,), 0, "int, 4"](whole, 3, 7)
    assert real.tolist() == [1.5] * 8
    assert whole.tolist() == [3] * 7 + [0]
    for wrong in ("", "half, 2"):
        with pytest.raises(TypeError, match="add is a template: write its arguments, as in add<float, 4><<<grid"):
            module.add[(1,), (4,), 0, wrong](real, 1.5, 8)
    CUDA.unload(module)
    twin = CUDA.load(PATH, CUDA.widened(TEMPLATE), "twin")
    wide = torch.zeros(8, dtype=torch.float64)
    twin.add[(1,), (4,), 0, "float, 2"](wide, 1.5, 8)
    assert wide.tolist() == [1.5] * 8
    CUDA.unload(twin)


def test_a_closed_text_leaves_no_memory_mapped() -> None:
    mapped = lambda: Path("/proc/self/maps").read_text().count("\n")
    text = "__global__ void wait(float* y) { __syncthreads(); y[threadIdx.x] = 1; }"
    before = mapped()
    module = CUDA.load(PATH, text, "subject")
    module.wait[(1,), (512,), 0](torch.empty(512))
    assert mapped() > before + 1000  # a stack and its guard for each thread
    CUDA.unload(module)
    assert mapped() < before + 100


def test_names_of_kernels() -> None:
    assert list(CUDA.kernels(TEXT)) == ["twice"]
    assert CUDA.kernels(TEXT)["twice"] in TEXT
    assert CUDA.known("/nowhere/text.cu", TEXT).cuda == {"twice"}


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("2.0f * x[i];", "2.0f * x[i]", 3, "line 4, column 32: expected ';' before '}' token"),
        ("int i =", "int j =", 3, "line 4, column 7: 'i' was not declared"),
        ("(x, y, n);", "(x, z, n);", 6, "line 7, column 86: 'z' was not declared"),
        ("if (i < n) y", "if (i < n) w", 3, "line 4, column 14: 'w' was not declared"),
    ],
)
def test_what_does_not_compile_is_told_at_its_place(old: str, new: str, line: int, words: str) -> None:
    with pytest.raises(JobFailed) as failed:
        CUDA.load("/nowhere/text.cu", TEXT.replace(old, new), "subject")
    failure = failed.value.failure
    assert (failure.kind, failure.line) == (FailureKind.IMPORT_FAILED, line)
    assert failure.message.startswith(f"The file does not compile at {words}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("void k() { wmma::fill_fragment(c, 0.0f); }", None),
        ("void k() { wmma::bmma_sync(c, a, b, c); }", "wmma of single bits"),
        ("wmma::experimental::precision::s4* x;", "wmma of less than eight bits"),
        ("void f() { cublasSgemm(handle); }", "cublas"),
        ("void f() { cufftHandle plan; }", "cufft"),
        ("void f() { thrust::sort(x, x + n); }", "thrust"),
        ("#include <mma.h>\n#include <cublas_v2.h>\n#include <cub/cub.cuh>\ncublasHandle_t handle;", None),
        ("#ifdef ENABLE_CUDNN\ncudnnHandle_t handle;\n#endif", None),
        ("#ifdef __CUDACC__\ncudnnHandle_t handle;\n#endif", "cudnn"),
        ("#define ENABLE_CUDNN\n#ifdef ENABLE_CUDNN\ncudnnHandle_t handle;\n#endif", "cudnn"),
        ('__global__ void k() { asm volatile("bar.sync 0;"); }', "inline PTX"),
        ('#define BAR asm("bar.sync 0;")\nvoid k() { BAR; }', "inline PTX"),
        ('#define BAR asm("bar.sync 0;")\n', None),
        ("__global__ void k() { k<<<1, 1>>>(); }", "a launch within a kernel"),
        ("__global__ void k(cudaTextureObject_t t, float* y) { *y = tex2D<float>(t, 0, 0); }", "a texture"),
        ("void f(cudaTextureObject_t* t) { cudaCreateTextureObject(t, 0, 0, 0); }", "a texture"),
        ("cudaTextureObject_t left;\ncudaSurfaceObject_t right;\ncudaArray_t array;", None),
        ('// asm\nint cub = 1, mma; const char* s = "thrust::";', None),
        ("#include <cuda_runtime.h>\n#include <cooperative_groups.h>", None),
    ],
)
def test_what_only_a_gpu_runs(text: str, expected: str | None) -> None:
    found = unsupported(text)
    assert (found[0] if found else None) == expected


def test_names_of_textures_may_stand_beside_what_runs() -> None:
    names = "cudaTextureObject_t left;\ncudaSurfaceObject_t right;\ncudaArray_t array = nullptr;\n"
    CUDA.unload(CUDA.load("/nowhere/text.cu", names + TEXT, "subject"))


def test_a_text_for_a_gpu_alone() -> None:
    with pytest.raises(JobFailed) as failed:
        CUDA.load("/nowhere/text.cu", TEXT + "void f() { cub::sort(); }\n", "subject")
    assert failed.value.failure.kind is FailureKind.NO_GPU
    assert "The file uses cub at line 10, which is not supported without a GPU" in failed.value.failure.message


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    building.cpp.cache_clear()
    with pytest.raises(JobFailed) as failed:
        CUDA.load("/nowhere/text.cu", TEXT + "// new\n", "subject")
    building.cpp.cache_clear()
    assert failed.value.failure.lacks_something
    said = words.of_failure(failed.value.failure)
    assert said.endswith("needs a C++ compiler: install g++ (`apt install g++`).")  # no other interpreter has one


def test_half_typed_texts_are_answered() -> None:
    for end in range(0, len(TEXT), 3):
        text = TEXT[:end]
        assert {*CUDA.kernels(text)} <= {"twice"}
        CUDA.widened(text)
        CUDA.is_interpreted_without_gpu(text)


def keep_in(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have libraries kept there, with what all of them are made with, which takes 5 s, taken from where they are kept."""
    building.build(PATH, TEXT, gpu=False)
    made = building.folder()
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    building.folder().mkdir(parents=True)
    for suffix in (".o", ".h", ".gch"):
        for file in made.glob(f"*{suffix}"):
            shutil.copy2(file, building.folder())


def test_libraries_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keep_in(tmp_path, monkeypatch)
    first = building.build(PATH, TEXT, gpu=False)
    assert first.library.is_relative_to(tmp_path)
    made = first.library.stat().st_mtime_ns
    assert building.build(PATH, TEXT, gpu=False).library.stat().st_mtime_ns == made
    assert building.build(PATH, TEXT + " ", gpu=False).library != first.library


def test_headers_beside_a_file_are_found_and_looked_at_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keep_in(tmp_path / "cache", monkeypatch)
    text = '#include "parts/factor.cuh"\nint number(int x) { return FACTOR * x; }\n'
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "factor.cuh").write_text('#include "value.h"\n#define FACTOR VALUE\n')
    value = tmp_path / "parts" / "value.h"
    for factor in (2, 3):
        value.write_text(f"#define VALUE {factor}\n")
        module = CUDA.load(str(tmp_path / "text.cu"), text, "subject")
        assert module.number(2) == 2 * factor
        CUDA.unload(module)


def test_libraries_of_another_user_are_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keep_in(tmp_path, monkeypatch)
    first = building.build(PATH, TEXT, gpu=False)
    assert building._found(first.library.stem) == first.library
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert building._found(first.library.stem) is None


def test_triton_is_not_needed() -> None:
    program = f"""
import sys
sys.modules["triton"] = None
from kernelwright.proof.worker.languages import language_of
module = language_of("cuda-cpp").load("/nowhere/text.cu", {TEXT!r}, "subject")
assert module.number(2) == 4
from kernelwright.proof.worker.profiling.counting import counted_launches
import torch
with counted_launches(lambda file: True) as seen:
    module.scale(torch.ones(8), torch.empty(8), 8)
assert [name for name, _ in seen.runs] == ["twice"], seen
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(kernelwright.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
