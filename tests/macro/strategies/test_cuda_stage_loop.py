"""cuda.stage-loop: which loads come from a tile, and which loops stay as they are."""

import pytest

from kernelwright.macro.strategies.cuda_stage_loop import STRATEGY
from macro.cuda_files import refusal, rewritten

KERNEL = """\
struct Place {{ float x, y; int kind; }};
struct Large {{ float x[4000]; }};
#define LINE (i * 4)
#define LEAVE break
__global__ void pairs(const {type}* p, const float* q, float* out, int n, int m, long l) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {guard}
    float s = 0.0f;
    for ({head}) {{
        {body}
    }}
    out[i] = s;
}}

extern "C" void solve(const {type}* p, const float* q, float* out, int n, int m, long l) {{
    pairs<<<(n + 63) / 64, {block}>>>(p, q, out, n, m, l);
}}
"""
HEAD, BODY = "int j = 0; j < m; j++", "s += p[j].x * q[i];"


def kernel(body: str = BODY, **changed: str) -> str:
    form = {"type": "Place", "guard": "if (i >= n) return;", "head": HEAD, "body": body, "block": "64"}
    return KERNEL.format(**{**form, **changed})


def first(text: str) -> list[str]:
    return [line.strip() for line in rewritten(STRATEGY, text)[0].splitlines()]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (kernel("s += p[j].x * p[j].y * q[i];"),
         ["__shared__ __align__(16) Place p_tile[64];", "p_tile[threadIdx.x] = p[j0 + (int)threadIdx.x];",
          "s += p_tile[turn].x * p_tile[turn].y * q[i];", "#pragma unroll 8", "out[i] = s;"]),
        (kernel("s += q[m + j] * q[m - 1 + j] * q[2 * j];"),
         ["q_tile[threadIdx.x] = q[m + j0 + (int)threadIdx.x];", "q_tile_[threadIdx.x] = q[m - 1 + j0 + (int)threadIdx.x];",
          "s += q_tile[turn] * q_tile_[turn] * q[2 * j];", "const int j = j0 + turn;"]),
        (kernel(head="int j = 0; j < 300; ++j"), ["const int turns = min(64, 300 - j0);"]),
    ],
    ids=["fields", "offsets", "a number of turns"],
)  # fmt: skip
def test_what_all_threads_read_comes_from_a_tile(text: str, lines: list[str]) -> None:
    assert [line for line in lines if line not in first(text)] == []


def test_variants_unroll_more_or_less() -> None:
    unrolled = [text.split("#pragma unroll ")[1].split("\n")[0] for text in rewritten(STRATEGY, kernel())]
    assert unrolled == ["8", "4", "16"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (kernel("s += q[i] * q[j * m];"), "no elements one after another"),
        (kernel("s += q[i + j];"), "no elements one after another"),
        (kernel("int k = m + j; s += q[k];"), "no elements one after another"),
        (kernel("s += out[j];"), "no elements one after another"),
        (kernel("s += q[(int)s + j];"), "no elements one after another"),
        (kernel(BODY + " out[j] = s;"), "writes to memory"),
        (kernel(BODY + " if (s > 9.0f) break;"), "end early"),
        (kernel(BODY + " j++;"), "end early"),
        (kernel(BODY + " s += LINE;"), "The macro LINE speaks"),
        (kernel(BODY + " LEAVE;"), "The macro LEAVE speaks of the kernel's own names, or leaves it"),
        (kernel(BODY + " __syncwarp();"), "work together"),
        (kernel(BODY + " s += q[threadIdx.x];"), "`threadIdx.x` is used besides `i`"),
        (kernel(BODY + " n--;"), "not counted as ints"),
        (kernel(BODY + " m--;"), "does not run from 0"),
        (kernel("s += (p++)[j].x * q[i] + p[j].y;"), "no elements one after another"),
        (kernel(type="Large"), "do not fit the shared memory"),
        (kernel(type="Unknown"), "do not fit the shared memory"),
        (kernel(head="int j = 1; j < m; j++"), "does not run from 0"),
        (kernel(head="int j = 0; j < l; j++"), "does not run from 0"),
        (kernel(head="int j = 0; j < i; j++"), "does not run from 0"),
        (kernel(head="int j = 0; j < m; j += 2"), "steps of 1"),
        (kernel(guard=""), "The guard asks"),
        (kernel(guard="if (i >= n || m > 9) return;"), "The guard asks"),
        (kernel(guard="if (i >= l) return;"), "not counted as ints"),
        (kernel(block="48"), "not whole warps"),
        (kernel(block="dim3(32, 2)"), "not whole warps"),
        (kernel(block="m"), "no size that is a number"),
    ],
)  # fmt: skip
def test_other_kernels_are_refused(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)
