"""What Triton's interpreter takes and no GPU does is not verified."""

import asyncio
import re
from pathlib import Path

import pytest

from kept import Lent
from kernelwright.engine import Engine
from kernelwright.journal import open_in_memory
from kernelwright.proof.jobs import TrialResult
from kernelwright.settings import Settings
from kernelwright.values import VerdictStatus

BASELINE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def total_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr, tl.sum(total, axis=0))


# workload: total(randn(1000))
def total(x):
    out = torch.empty(1, device=x.device)
    total_kernel[(1,)](x, out, x.numel(), BLOCK=64)
    return out
"""
LARGER = BASELINE.replace("BLOCK=64", "BLOCK=128")
CHANGING = BASELINE.replace("tl.zeros([BLOCK], dtype=tl.float32)", "0")  # the type of what the loop carries
READING = BASELINE.replace("    out = torch", "    x.sum().item()\n    out = torch")
PRODUCT = """\
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(a_ptr, b_ptr, out_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    total = tl.zeros([M, N], dtype=tl.float32)
    for start in range(0, k, K):
        at = start + tl.arange(0, K)
        a = tl.load(a_ptr + m[:, None] * k + at[None, :], mask=(at < k)[None, :], other=0.0)
        b = tl.load(b_ptr + at[:, None] * N + n[None, :], mask=(at < k)[:, None], other=0.0)
        total += tl.dot(a, b)
    tl.store(out_ptr + m[:, None] * N + n[None, :], total)


# workload: product(randn(128, 256), randn(256, 64))
def product(a, b):
    assert a.shape[0] == 128 and b.shape[1] == 64
    out = torch.empty(128, 64, device=a.device)
    product_kernel[(1,)](a, b, out, a.shape[1], M=128, N=64, K=128, num_stages=1)
    return out
"""


def verified(folder: Path, text: str, baseline: str, kernel: str = "total_kernel") -> TrialResult:
    async def body() -> object:
        engine = Engine(folder, Settings(), Lent(), open_in_memory(folder))
        try:
            return await engine.trial(str(folder / "total.py"), text, kernel, measure=False, baseline=baseline)
        finally:
            await engine.close()

    answer = asyncio.run(body())
    assert isinstance(answer, TrialResult), answer
    return answer


def test_what_compiles_has_the_check(tmp_path: Path) -> None:
    verdict = verified(tmp_path, LARGER, BASELINE).verdict
    assert verdict.passed
    (check,) = (one for one in verdict.checks if one.name == "compiles")
    assert (check.passed, check.detail) == (True, "total_kernel for compute capability 9.0")


def test_what_compiles_for_no_gpu_fails(tmp_path: Path) -> None:
    verdict = verified(tmp_path, CHANGING, BASELINE).verdict
    assert verdict.status is VerdictStatus.FAILED
    assert [one.name for one in verdict.failed_checks] == ["compiles"]
    assert "compiles (total(randn(1000))): total_kernel does not compile at line 9: " in verdict.reason


def test_a_baseline_that_does_not_compile_either_is_told(tmp_path: Path) -> None:
    verdict = verified(tmp_path, CHANGING.replace("BLOCK=64", "BLOCK=128"), CHANGING).verdict
    assert verdict.passed
    assert any(one.startswith("compiles for no GPU, as the baseline: total_kernel") for one in verdict.caveats)


def test_what_fits_into_no_multiprocessor_fails(tmp_path: Path) -> None:
    """The compiler takes it, and the launch would not: four stages of 96 KiB."""
    verdict = verified(tmp_path, PRODUCT.replace("num_stages=1", "num_stages=4"), PRODUCT, "product_kernel").verdict
    assert [one.name for one in verdict.failed_checks] == ["compiles"]
    assert re.search(r"product_kernel fits into no multiprocessor, by its shared memory: \d{6} bytes", verdict.reason)


@pytest.mark.parametrize(("text", "baseline", "listed"), [(READING, LARGER, True), (BASELINE, BASELINE, False)])
def test_where_nothing_is_compiled(tmp_path: Path, text: str, baseline: str, listed: bool) -> None:
    """A launcher that reads its data does not run without; a text that is its own baseline is not looked at."""
    verdict = verified(tmp_path, text, baseline).verdict
    assert verdict.passed
    assert all(one.name != "compiles" for one in verdict.checks)
    assert any(one.name == "compiles" and "without data" in one.why for one in verdict.unchecked) is listed
