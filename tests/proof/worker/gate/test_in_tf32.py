"""Reduced accuracy beside a baseline that is wrong in TF32 on the same data; on a CPU the texts round by themselves."""

import pytest

from kernelwright.proof.jobs import Limits, Trial
from kernelwright.proof.worker.trial import run_trial
from kernelwright.values import Accuracy, Verdict
from proof.worker.trials import workload

TEXT = """
import torch


def rounded(t):
    if torch.is_grad_enabled():
        return t
    return ((t.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(2048, 4096) / 64)

    def forward(self, x):
        given, weight = x, self.weight
        if {rounds}:
            x, weight = rounded(x), rounded(weight)
        return torch.tanh(x @ weight){times}, given.argmax(1){more}


def get_inputs():
    return [torch.randn(4, 2048)]


def get_init_inputs():
    return []
"""
AS_SET = "torch.backends.cuda.matmul.allow_tf32"


def judged(rounds: str, after: str, *, more: str = "", accept: bool) -> Verdict:
    """Of a text that rounds always, and does something more `after` the tanh, or with the indices."""
    limits = Limits(timing_budget=0.2, threads=1, seeds=2, accept_reduced=accept)
    baseline, candidate = (
        TEXT.format(rounds=rounds, times="", more=""),
        TEXT.format(rounds="True", times=after, more=more),
    )
    job = Trial("/nowhere/kernel.py", baseline, baseline, candidate, workload(), measure=False, limits=limits)
    return run_trial(job, lambda stage: None).verdict


def test_data_on_which_the_baseline_is_wrong_in_tf32_say_nothing() -> None:
    verdict = judged(AS_SET, "", accept=True)
    assert verdict.passed, verdict.failed_checks
    assert verdict.accuracy is Accuracy.REDUCED


@pytest.mark.parametrize(
    ("rounds", "after", "accept", "ending"),
    [
        ("False", "", True, "values"),
        (AS_SET, " * (9.0 if x.mean() < -10.0 else 1.0)", True, "values"),
        (AS_SET, "", False, "values"),
    ],
    ids=["right-in-tf32", "much-further-off", "not-accepted"],
)
def test_other_errors_are_refused(rounds: str, after: str, accept: bool, ending: str) -> None:
    verdict = judged(rounds, after, accept=accept)
    assert [check.name for check in verdict.failed_checks] == [ending]


def test_indices_have_to_be_right_on_such_data_too() -> None:
    verdict = judged(AS_SET, "", more=" + int(x.shape[0] == 2 and -1e9 < x.mean() < -10.0)", accept=True)
    assert [check.name for check in verdict.failed_checks] == ["values"]
