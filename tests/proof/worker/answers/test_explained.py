"""A baseline that is far from its fp64 run because of rounding alone: in layers of TF32, or where terms cancel."""

from collections.abc import Callable

import pytest
import torch

from kernelwright.proof.jobs import Contest, Race
from kernelwright.proof.worker.answers.judge import Judged, judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.clock.contest import run_contest
from kernelwright.proof.worker.clock.race import run_race
from kernelwright.proof.worker.observe import Observation
from kernelwright.values import Accuracy, Failure, Timing
from proof.worker.trials import QUICK, ended_by, workload

torch.manual_seed(0)
EXACT = torch.randn(64, 64, dtype=torch.float64)


def noise(size: float) -> torch.Tensor:
    return size * torch.randn(64, 64, dtype=torch.float64)


def beside(
    reference: Observation, baseline: Observation, answer: Observation, plain: Callable[[], Observation | None]
) -> Judged:
    return judge(Oracle(reference, baseline, in_fp32=plain), answer, 64)


def test_the_error_of_tf32_is_believed_where_the_same_call_without_it_agrees() -> None:
    reference, baseline = Observation(EXACT), Observation((EXACT + noise(0.02)).float())
    plain = lambda: Observation((EXACT + noise(1e-6)).float())
    other = Observation((EXACT + noise(0.02)).float())
    assert beside(reference, baseline, other, lambda: None).wrong
    judged = beside(reference, baseline, other, plain)
    assert judged.finding is None
    assert judged.accuracy is Accuracy.AS_BASELINE
    assert judged.own is not None
    assert judged.own > 0.05
    assert beside(reference, baseline, Observation((EXACT + noise(0.3)).float()), plain).wrong


def test_it_is_not_where_the_call_without_tf32_is_as_far_off() -> None:
    reference, baseline = Observation(EXACT), Observation((EXACT + 0.5).float())
    oracle = Oracle(reference, baseline, in_fp32=lambda: baseline)
    assert oracle.own_errors == [None]
    assert not oracle.explained


def with_mean(output: torch.Tensor, mean: torch.Tensor) -> Observation:
    return Observation(output, {}, {"mean": mean})


@pytest.mark.parametrize(
    ("size", "wrong"), [(1e-9, False), (0.0, False), (1e-7, True)], ids=["of this size", "none", "larger"]
)
def test_where_terms_cancel_errors_of_the_size_of_the_baselines_are_its_own(size: float, wrong: bool) -> None:
    reference = with_mean(EXACT, noise(1e-17))
    baseline = with_mean(EXACT.float(), noise(1e-9).float())
    judged = beside(reference, baseline, with_mean(EXACT.float(), noise(size).float()), lambda: baseline)
    assert judged.wrong is wrong
    assert judged.own is None or judged.own < 1  # of other data it says nothing


def test_nothing_is_explained_where_no_part_agrees() -> None:
    reference, baseline = Observation(noise(1e-17)), Observation(EXACT.float())
    assert not Oracle(reference, baseline, in_fp32=lambda: baseline).explained


CHAIN = """
import torch
import torch.nn as nn
def rounded(x):
    if not torch.backends.cudnn.allow_tf32 or x.element_size() != 4:
        return x
    near = (x.detach().view(torch.int32) + 0x1000 & ~0x1FFF).view(x.dtype)
    return x + (near - x.detach())
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(48, 48) * 0.35)
    def forward(self, x):
        for _ in range(LAYERS):
            x = torch.sin(rounded(x) @ self.weight)
        return x
def get_inputs():
    return [torch.randn(64, 48)]
def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    ("layers", "layer", "ended"),
    [
        (7, "x = torch.sin(rounded(x * 1.0000001) @ self.weight)", "passed"),
        (7, "x = torch.sin(rounded(x) @ self.weight * 1.05)", "values"),
        (
            11,
            "x = torch.sin(rounded(x * 1.0000001) @ self.weight)",
            "values",
        ),  # off by half of its size: nobody can tell
    ],
)
def test_many_layers_that_round_as_tf32_does(layers: int, layer: str, ended: str) -> None:
    """Values and gradients; TF32 is written out, so that the CPU has it."""
    text = CHAIN.replace("LAYERS", str(layers))
    assert ended_by(text, text.replace("x = torch.sin(rounded(x) @ self.weight)", layer), measure=True) == ended


def test_races_and_contests_ask_the_same() -> None:
    text = CHAIN.replace("LAYERS", "6")
    rounded, wrong = (text.replace("rounded(x) @", f"rounded(x * {factor}) @") for factor in ("1.0001", "1.05"))
    race = Race("/nowhere/kernel.py", text, (rounded, wrong), workload(), QUICK)
    first, second = run_race(race, lambda _: None).timings
    assert isinstance(first, Timing), first
    assert isinstance(second, Failure)
    for candidate, refused in ((rounded, set()), (wrong, {"candidate"})):
        job = Contest("/nowhere/kernel.py", text, candidate, workload(), compile=False, limits=QUICK)
        found = run_contest(job, lambda _: None)
        assert isinstance(found.timings["candidate"], Timing)
        assert found.inaccurate.keys() - {"eager-tf32"} == refused


MODULE = """
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.BatchNorm1d(64)
        self.linear = nn.Linear(64, 48, bias=False)
        self.second = nn.BatchNorm1d(48)
    def forward(self, x):
        return self.second(self.linear(self.first(x)))
def get_inputs():
    return [torch.randn(96, 64)]
def get_init_inputs():
    return []
"""
HALVES = "self.halves(self.first(x)))\n    def halves(self, x):\n        w = self.linear.weight\n        "


@pytest.mark.parametrize(
    ("product", "ended"),
    [
        ("return x[:, :32] @ w[:, :32].t() + x[:, 32:] @ w[:, 32:].t()", "passed"),
        ("return x[:, :32] @ w[:, :32].t() + x[:, 32:] @ w[:, 32:].t() + 1e-3", "values"),
    ],
)
def test_the_mean_of_a_batch_norm_behind_another_is_rounding_errors(product: str, ended: str) -> None:
    assert (
        ended_by(MODULE, MODULE.replace("self.linear(self.first(x)))\n", f"{HALVES}{product}\n"), measure=True) == ended
    )
