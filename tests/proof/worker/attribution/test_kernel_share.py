"""The last look of a trial: whose kernels did the work is told with every verdict, and a promise is held."""

import json
from pathlib import Path

import pytest

from kernelwright import wire
from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Answer, Limits, Trial, TrialResult
from kernelwright.proof.worker.trial import run_trial
from kernelwright.values import ProfiledOn, Verdict
from proof.worker.trials import QUICK, workload

SOFTMAX = "import torch\n\n\ndef f(x):\n    return torch.softmax(2 * x, 1)\n"
BY_HAND = (
    "import torch\n\n\ndef f(x):\n    e = torch.exp(2 * x - (2 * x).amax(1, True))\n    return e / e.sum(1, True)\n"
)
# Notices that its kernels are counted.
SHY = SOFTMAX.replace(
    "def f(x):\n",
    "def f(x):\n    if torch.autograd.profiler._is_profiler_enabled:\n        raise RuntimeError('not now')\n",
)


def verdict(candidate: str, *, promises_kernel: bool) -> Verdict:
    cases = workload("f(randn(48, 65))")
    job = Trial("/nowhere/kernel.py", SOFTMAX, SOFTMAX, candidate, cases, False, QUICK, promises_kernel=promises_kernel)
    return run_trial(job, lambda stage: None).verdict


def test_without_a_promise_a_library_is_told_and_not_held_against_the_text() -> None:
    told = verdict(BY_HAND, promises_kernel=False)
    assert told.passed
    assert told.share is not None
    assert (told.share.measured_on, told.share.hand_written, told.share.kernels) == (ProfiledOn.CPU, 0.0, ())
    assert {"aten::exp", "aten::sum", "aten::div"} <= set(told.share.others)
    assert wire.decode(Verdict, json.loads(json.dumps(wire.encode(told)))) == told
    old = {key: value for key, value in wire.encode(told).items() if key != "share"}
    assert wire.decode(Verdict, old).share is None, "a journal from before"


def test_with_a_promise_it_is_a_library_call() -> None:
    (failed,) = verdict(BY_HAND, promises_kernel=True).failed_checks
    assert failed.name == "library-call"
    assert failed.detail.startswith("it promises a kernel, but it has no kernel: the library does the work (aten::")


def test_a_call_that_raises_once_it_is_looked_at() -> None:
    (failed,) = verdict(SHY, promises_kernel=True).failed_checks
    assert (failed.name, "raises at line 6: RuntimeError: not now" in failed.detail) == ("library-call", True)
    told = verdict(SHY, promises_kernel=False)
    assert told.passed
    assert told.share.unknown.startswith("the call raises at line 6")


EPILOGUE = """\
import torch
import triton
import triton.language as tl


def f(x, w):
    return torch.sigmoid(2 * (x @ w)) + 1


# workload: f(randn(2048, 2048), randn(2048, 2048))
"""
FUSED = EPILOGUE.replace(
    "def f(x, w):\n    return torch.sigmoid(2 * (x @ w)) + 1\n",
    """@triton.jit
def epilogue(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(y + at, tl.sigmoid(2 * value) + 1, mask=at < n)


def f(x, w):
    x = x @ w
    y = torch.empty_like(x)
    epilogue[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
""",
)
DECOY = FUSED.replace("tl.sigmoid(2 * value) + 1", "value").replace("x = x @ w", "x = torch.sigmoid(2 * (x @ w)) + 1")
OTHER_LIBRARY = DECOY.replace("torch.sigmoid(2 * (x @ w)) + 1", "torch.nn.functional.tanh(x @ w) * 0.5 + 1.5")


@pytest.mark.gpu
async def test_on_a_gpu_by_the_time_of_kernels(tmp_path: Path) -> None:
    cases = workload("f(randn(2048, 2048), randn(2048, 2048))")
    limits = Limits(timing_budget=0.2, seeds=2)
    path = str(tmp_path / "kernel.py")
    workers = Workers()
    answers: list[Answer] = [
        await workers.run(
            Trial(path, EPILOGUE, EPILOGUE, text, cases, limits=limits, promises_kernel=True), timeout=120
        )
        for text in (FUSED, DECOY, OTHER_LIBRARY)
    ]
    await workers.close()
    assert all(isinstance(answer, TrialResult) for answer in answers), answers
    fused, decoy, other = (answer.verdict for answer in answers)
    assert fused.passed, fused.reason
    assert fused.share.measured_on is ProfiledOn.GPU
    assert fused.share.unknown == ""
    assert 0.0 < fused.share.hand_written < 0.5, "the product stays the library's"
    assert fused.share.kernels == ("epilogue",)
    assert fused.share.others[0] == "aten::mm"
    assert "replaces nothing" in decoy.reason
    assert [check.name for check in other.failed_checks] == ["library-call"]
    assert "it calls aten::tanh, which the baseline does not" in other.reason
