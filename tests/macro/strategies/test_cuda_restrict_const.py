"""`const __restrict__`: which parameters get it, what becomes const along with them, and which launches stand in the way."""

import pytest

from kernelwright.macro.strategies.cuda_restrict_const import STRATEGY
from macro.cuda_files import refusal, rewritten

LAUNCH = "void solve(float* a, float* b, int n) {\n    k<<<n / 32, 32>>>(a, b, n);\n}\n"


def kernel(parameters: str, body: str, launch: str = LAUNCH) -> str:
    return f"__global__ void k({parameters}) {{\n    int i = threadIdx.x;\n    {body}\n}}\n{launch}"


@pytest.mark.parametrize(
    ("parameters", "body", "expected"),
    [
        ("float* x, float* y, int n", "y[i] = x[i];", "const float* __restrict__ x, float* y, int n"),
        ("const float *x, float *y, int n", "y[i] = x[i];", "const float *__restrict__ x, float *y, int n"),
        ("float const* x, float* y, int n", "y[i] = x[i];", "float const* __restrict__ x, float* y, int n"),
        ("float* __restrict__ x, float* y, int n", "y[i] = *(x + i);", "const float* __restrict__ x, float* y, int n"),
        ("float* y, const float* x, int n", "y[i] += __ldg(&x[i]);", "float* y, const float* __restrict__ x, int n"),
        ("const int* x, int* y, int n", "atomicAdd(y + i, x[i]);", "const int* __restrict__ x, int* y, int n"),
        ("float4* x, float* y, int n", "y[i] = x[i].x;", "const float4* __restrict__ x, float* y, int n"),
        ("float* x, float* y, int n", "if (x) y[i] = fabsf(x[i]);", "const float* __restrict__ x, float* y, int n"),
    ],
)
def test_what_is_only_read_is_restricted(parameters, body, expected) -> None:
    assert rewritten(STRATEGY, kernel(parameters, body)) == (kernel(expected, body),)


def test_a_local_pointer_becomes_const_too() -> None:
    before = kernel("float* x, float* y, int n", "float* row = x + i * n; y[i] = row[0] + row[1];")
    after = kernel(
        "const float* __restrict__ x, float* y, int n", "const float* row = x + i * n; y[i] = row[0] + row[1];"
    )
    assert rewritten(STRATEGY, before) == (after,)


@pytest.mark.parametrize(
    ("parameters", "body", "expected"),
    [
        ("float* x, int n", "x[i] *= 2;", "writes through every pointer"),
        ("float* x, float* y, int n", "float* p = x; p[i] = y[i]; y[i] = 0;", "writes through every pointer"),
        ("float* x, float* y, int n", "y[i] = f(x);", "writes through every pointer"),
        ("float* x, float* y, int n", "float& v = x[i]; v = y[i]; y[i] = 1;", "writes through every pointer"),
        ("float* x, float* y, int n", "swap(x[i], y[i]);", "writes through every pointer"),
        ("float* x, float* y, int n", "float *p = x, *q = y; q[i] = p[i];", "writes through every pointer"),
        ("float* x, float* y, int n", "auto p = reinterpret_cast<float4*>(x); p[i].x = 0; y[i] = 1;", "writes through"),
        ("const float* __restrict__ x, float* y, int n", "y[i] = x[i];", "const __restrict__ already"),
        ("int n", "n = i;", "gets no pointers"),
    ],
)
def test_what_is_written_is_left_alone(parameters, body, expected) -> None:
    assert expected in refusal(STRATEGY, kernel(parameters, body))


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        ("void solve(float* a, int n) {\n    k<<<1, 32>>>(a, a, n);\n}\n", "x and y are both made of a at this launch"),
        ("void solve(float* a, int n) {\n    k<<<1, 32>>>(a, a + n, n);\n}\n", "x and y are both made of a"),
        (
            "void solve(float* a, int n) {\n    float* b = a + n;\n    k<<<1, 32>>>(b, a, n);\n}\n",
            "x and y are both made of a",
        ),
        (
            LAUNCH + "void run(float* a) {\n    solve(a, a, 32);\n}\n",
            "solve is called here with one buffer for x and y",
        ),
        (LAUNCH + "void* p = (void*)k;\n", "its type has to stay"),
    ],
)
def test_one_buffer_for_two_parameters(launch, expected) -> None:
    assert expected in refusal(STRATEGY, kernel("const float* x, float* y, int n", "y[i] = x[i];", launch))


def test_a_device_function_that_takes_const_only_reads() -> None:
    helper = "__device__ float f(const float* p, int i) {\n    return p[i];\n}\n"
    text = helper + kernel("const float* x, float* y, int n", "y[i] = f(x, i);")
    assert "const float* __restrict__ x" in rewritten(STRATEGY, text)[0]
