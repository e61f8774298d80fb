"""cuda.double-buffer: loops over tiles that get a second buffer, in registers or by asynchronous copies."""

import dataclasses

import pytest

from kernelwright.macro.strategies.cuda_double_buffer import STRATEGY
from macro.cuda_files import CUDA, H200, observe, refusal, rewritten

KERNEL = """\
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {{
    __shared__ {type} As[16][16], Bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int t = 0; t < (K + 15) / 16; ++t) {{
        {loads}
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += As[ty][k] * Bs[k][tx];
        {rest}
    }}
    {end}
}}
"""
A = "As[ty][tx] = row < M && t * 16 + tx < K ? A[row * K + t * 16 + tx] : 0.0f;"
B = "Bs[ty][tx] = t * 16 + ty < K && col < N ? B[(t * 16 + ty) * N + col] : 0.0f;"


def product(
    loads: str = f"{A}\n        {B}",
    rest: str = "__syncthreads();",
    end: str = "if (row < M && col < N) C[row * N + col] = sum;",
    type: str = "float",
) -> str:
    return KERNEL.format(loads=loads, rest=rest, end=end, type=type)


def test_the_next_tile_waits_in_registers() -> None:
    lines = [line.strip() for line in rewritten(STRATEGY, product())[0].splitlines()]
    first, loop = lines.index("if (0 < (K + 15) / 16) {"), lines.index("for (int t = 0; t < (K + 15) / 16; ++t) {")
    assert lines[first + 1 : loop] == [
        "As[0][ty][tx] = row < M && 0 * 16 + tx < K ? A[row * K + 0 * 16 + tx] : 0.0f;",
        "Bs[0][ty][tx] = 0 * 16 + ty < K && col < N ? B[(0 * 16 + ty) * N + col] : 0.0f;",
        "}",
        "__syncthreads();",
        "int at = 0;",
    ]
    assert lines[loop + 1 : loop + 16] == [
        "float next_As;",
        "float next_Bs;",
        "if (t + 1 < (K + 15) / 16) {",
        "next_As = row < M && (t + 1) * 16 + tx < K ? A[row * K + (t + 1) * 16 + tx] : 0.0f;",
        "next_Bs = (t + 1) * 16 + ty < K && col < N ? B[((t + 1) * 16 + ty) * N + col] : 0.0f;",
        "}",
        "for (int k = 0; k < 16; ++k) sum += As[at][ty][k] * Bs[at][k][tx];",
        "at ^= 1;",
        "if (t + 1 < (K + 15) / 16) {",
        "As[at][ty][tx] = next_As;",
        "Bs[at][ty][tx] = next_Bs;",
        "}",
        "__syncthreads();",
        "}",
        "if (row < M && col < N) C[row * N + col] = sum;",
    ]
    assert "__shared__ float As[2][16][16], Bs[2][16][16];" in lines


def test_copies_are_asynchronous_where_the_gpu_has_them() -> None:
    text = rewritten(STRATEGY, product())[1]
    assert text.startswith("#include <cuda_pipeline.h>\n")
    copy = "__pipeline_memcpy_async(&As[at ^ 1][ty][tx], &A[row * K + (t + 1) * 16 + tx], 4,"
    assert f"{copy} (row < M && (t + 1) * 16 + tx < K) ? 0 : 4);" in text
    assert "        __pipeline_wait_prior(0);\n        __syncthreads();\n        at ^= 1;\n    }" in text
    observation = observe(product(), device=dataclasses.replace(H200, compute_capability=75))
    actions = STRATEGY.find(observation)
    assert isinstance(actions, tuple)
    assert len(STRATEGY.intent(observation, actions[0]).variants) == 1
    assert len(rewritten(STRATEGY, product(A.replace("0.0f", "1.0f")))) == 1
    assert CUDA.syntax_problem(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (product(rest=""), "No loop loads tiles"),
        (product("int a = t * 16 + tx;\n        " + A), "No loop loads tiles"),
        (product("As[ty][tx] = A[row * K + t * 16 + int(sum)];"), "`sum` of a load is made in the turn"),
        (product(rest="if (sum > 9) break;\n        __syncthreads();"), "may end early"),
        (product(rest="C[row] = sum;\n        __syncthreads();"), "is stored in the loop"),
        (product(end="C[row] = As[ty][tx];"), "used for more than the tiles"),
        (product().replace("[16]", "[80]"), "do not fit"),
    ],
)
def test_other_loops_are_refused(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)
