"""Kernels that their workload line launches: rewritten for the blocks of the line, and as they were for any others."""

import pytest
import torch

from kernelwright.macro.strategies import cuda_privatise_atomics, cuda_stage_loop, cuda_warp_rows
from kernelwright.macro.strategy import Strategy
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from macro.cuda_files import refusal, rewritten

STAGED = """\
// workload: k<<<(n + 63) / 64, 64>>>(a=randn(m), b=randn(n), c=out(n), m=256, n=256)
__global__ void k(const float* a, const float* b, float* c, int m, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float at = b[i], sum = 0.0f;
    for (int j = 0; j < m; ++j) {
        float d = a[j] - at;
        sum += d * d;
    }
    c[i] = sum;
}
"""
ROWS = """\
// workload: k<<<4, 64>>>(a=randn(4 * n * m), b=randn(n), c=out(4 * n), m=256, n=256)
__global__ void k(const float* a, const float* b, float* c, int m, int n) {
    const float* rows = a + blockIdx.x * n * m;
    for (int t = threadIdx.x; t < n; t += blockDim.x) {
        float dot = 0.0f;
        for (int d = 0; d < m; ++d) {
            dot += rows[t * m + d];
        }
        c[blockIdx.x * n + t] = dot * b[t];
    }
}
"""
BINS = """\
// workload: k<<<4, 64>>>(a=randn(n), b=randn(8), c=inout(zeros(m)), m=64, n=256)
__global__ void k(const float* a, const float* b, float* c, int m, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int bin = (int)(fabsf(a[i]) * 4.0f);
        if (bin < m) atomicAdd(&c[bin], 1.0f);
    }
}
"""
CASES = [
    pytest.param(cuda_stage_loop.STRATEGY, STAGED, id="stage-loop"),
    pytest.param(cuda_warp_rows.STRATEGY, ROWS, id="warp-rows"),
    pytest.param(cuda_privatise_atomics.STRATEGY, BINS, id="privatise-atomics"),
]


@pytest.mark.parametrize(("strategy", "text"), CASES)
def test_other_blocks_than_those_of_the_line_go_the_old_way(monkeypatch, strategy: Strategy, text: str) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    variants = rewritten(strategy, text)
    assert variants
    m, n, blocks = 37, 83, 4
    a, b = torch.randn(blocks * n * m), torch.randn(n)
    for after in variants:
        assert "if (blockDim.x == 64 && blockDim.y == 1 && blockDim.z == 1) {" in after
        modules = [LANGUAGE.load("/nowhere/k.cu", one, "k") for one in (text, after)]
        for block in (64, 32, 7):
            found = [torch.zeros(blocks * n) for _ in modules]
            for module, c in zip(modules, found, strict=True):
                module.k[(max(blocks, -(-n // block)) if text is STAGED else blocks,), (block,), 0](a, b, c, m, n)
            assert torch.allclose(*found, atol=1e-4)
            assert found[0].any()
        for module in modules:
            LANGUAGE.unload(module)


@pytest.mark.parametrize(("strategy", "text"), CASES[:2])
def test_blocks_that_do_not_serve_are_refused(strategy: Strategy, text: str) -> None:
    assert "whole warps" in refusal(strategy, text.replace("64>>>", "40>>>"))
