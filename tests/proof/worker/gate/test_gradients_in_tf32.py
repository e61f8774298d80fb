"""Gradients that TF32 moves in the baseline itself; on a CPU the texts round by themselves, as the settings say."""

from kernelwright.proof.jobs import Limits, Trial
from kernelwright.proof.worker.trial import run_trial
from kernelwright.values import Verdict
from proof.worker.trials import workload

TEXT = """
import torch


def rounded(t):
    if t.dtype == torch.float64 or not torch.backends.cudnn.allow_tf32:
        return t
    bits = (t.detach().contiguous().view(torch.int32) + {half}) & ~0x1FFF
    return t + (bits.view(torch.float32) - t.detach())


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steady = torch.nn.Parameter(torch.randn(64))
        self.chaotic = torch.nn.Parameter(torch.randn(64))

    def forward(self, x):
        steady = {steady}
        return x * steady + 1e-9 * self.chaotic * torch.sin(1e9 * rounded(x))


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return []
"""
STEADY, DOUBLED = "self.steady", "2 * self.steady - self.steady.detach()"


def judged(half: str, steady: str) -> Verdict:
    """Of a text that rounds in another way than the baseline, which rounds to nearest."""
    limits = Limits(timing_budget=0.2, threads=1, seeds=2)
    baseline = TEXT.format(half="0x1000", steady=STEADY)
    candidate = TEXT.format(half=half, steady=steady)
    job = Trial("/nowhere/kernel.py", baseline, baseline, candidate, workload(), measure=False, limits=limits)
    return run_trial(job, lambda stage: None).verdict


def test_gradients_that_tf32_moves_in_the_baseline_too_are_left_out() -> None:
    verdict = judged("0", STEADY)
    assert verdict.passed, verdict.failed_checks
    assert "some gradients not compared" in verdict.caveats


def test_the_others_are_compared() -> None:
    verdict = judged("0", DOUBLED)
    (failed,) = verdict.failed_checks
    assert failed.name == "gradient"
    assert "self.steady" in failed.detail


def test_where_all_agree_none_is_left_out() -> None:
    assert judged("0x1000", STEADY).caveats == ()
