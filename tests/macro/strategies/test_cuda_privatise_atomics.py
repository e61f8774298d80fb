"""cuda.privatise-atomics: tables that each block counts in shared memory, and additions that stay where they are."""

import pytest

from kernelwright.macro.strategies.cuda_privatise_atomics import STRATEGY
from macro.cuda_files import refusal, rewritten

KERNEL = """\
typedef unsigned char byte;
#define NUM_BINS 256

__global__ void count(const byte* x, const unsigned* keys, {type}* hist, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {body}
}}

// workload: solve(x=randint(0, 256, n, dtype=uint8), keys=randint(0, 9, n, dtype=int32), hist=out({bins}), n=4096)
extern "C" void solve(const byte* x, const unsigned* keys, {type}* hist, int n) {{
    count<<<64, {block}>>>(x, keys, hist, n);
}}
"""
LOOP = "for (; i < n; i += 4096) atomicAdd(&hist[x[i]], 1);"


def kernel(body: str = LOOP, type: str = "int", bins: str = "100", block: str = "128") -> str:
    return KERNEL.format(body=body, type=type, bins=bins, block=block)


def new_lines(text: str) -> list[str]:
    (after,) = rewritten(STRATEGY, text)
    return [line.strip() for line in after.splitlines() if line not in text.splitlines()]


def test_each_block_counts_bytes() -> None:
    assert new_lines(kernel()) == [
        "__shared__ int block_hist[NUM_BINS];",
        "for (int b = threadIdx.x; b < NUM_BINS; b += blockDim.x) block_hist[b] = 0;",
        "__syncthreads();",
        "for (; i < n; i += 4096) atomicAdd(&block_hist[x[i]], 1);",
        "__syncthreads();",
        "for (int b = threadIdx.x; b < NUM_BINS; b += blockDim.x) {",
        "if (block_hist[b] != 0) atomicAdd(&hist[b], block_hist[b]);",
        "}",
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (kernel("if (i < n) { byte key = keys[i] >> 24; atomicAdd(hist + key, 1); }"),
         ["if (i < n) { byte key = keys[i] >> 24; atomicAdd(&block_hist[key], 1); }"]),
        (kernel("if (i < n) atomicAdd(&hist[(keys[i] >> 3) & 63], 2.0f);", "float"),
         ["__shared__ float block_hist[64];", "for (int b = threadIdx.x; b < 64; b += blockDim.x) block_hist[b] = 0.0f;"]),
        (kernel("if (i >= n || n < 4) return;\n    atomicAdd(&hist[x[i]], 1);\n    // two\n    atomicAdd(&hist[x[i] / 2], 1);"),
         ["if (i < n && n >= 4) {", "// two", "const auto slot = x[i] / 2;", "atomicAdd(&hist[slot], 1);", "}"]),
        (kernel("if (i < n) atomicAdd(&hist[(signed char)x[i]], 1);"),
         ["if (static_cast<unsigned long long>(slot) < 100) {", "atomicAdd(&hist[slot], 1);"]),
        (kernel(block="dim3(16, 8)"),
         ["for (int b = threadIdx.y * blockDim.x + threadIdx.x; b < NUM_BINS; b += blockDim.x * blockDim.y) {"]),
    ],
    ids=["a byte with a name", "a mask", "an early return", "a sign", "two dimensions"],
)  # fmt: skip
def test_other_tables(text: str, lines: list[str]) -> None:
    found = new_lines(text)
    assert [line for line in lines if line not in found] == []


def test_threads_of_one_element_stride() -> None:
    text = kernel("if (i < n) atomicAdd(&hist[x[i]], 1);").replace("<<<64", "<<<(n + 127) / 128")
    strided, alone = rewritten(STRATEGY, text)
    assert "i < n; i += blockDim.x * gridDim.x) {" in strided
    assert "const int max_blocks = 132 * 16;" in strided
    for after in (strided, alone):
        assert "atomicAdd(&block_hist[x[i]], 1);" in after
        assert "__shared__ int block_hist[NUM_BINS];" in after


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (kernel("if (i < n) hist[x[i]] = 1;"), "no table by atomics"),
        (kernel("if (i < n) keys_at(i, atomicAdd(&hist[x[i]], 1));"), "what one returns is used"),
        (kernel("if (i < n) { atomicAdd(&hist[x[i]], 1); hist[0] = 3; }"), "used for more than the additions"),
        (kernel("if (i < n) atomicAdd(&hist[blockIdx.x], 1);"), "add to the same element"),
        (kernel("__shared__ int s[4];\n    if (i < n) atomicAdd(&hist[x[i]], 1);"), "array in shared memory already"),
        (kernel("while (i < n) { if (x[i] == 0) return; atomicAdd(&hist[x[i]], 1); i += 9; }"), "may return ahead of the end"),
        (kernel("if (i < n) atomicAdd(&hist[keys[i]], 1);", bins="1 << 20"), "has 1048576 elements; up to 12288 fit"),
        (kernel("if (i < n) atomicAdd(&hist[keys[i]], 1);", "half"), "no plain numbers"),
        (kernel("if (i < n) atomicAdd(&hist[keys[i]], 1);").replace("workload", "line"), "Nothing says how many elements"),
        (kernel(block="n"), "no size that is a number"),
    ],
)  # fmt: skip
def test_what_stays(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)
