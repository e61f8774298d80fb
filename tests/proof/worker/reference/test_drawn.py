"""The fp64 run of a baseline that draws random numbers: the same numbers, and so a reference."""

import pytest
import torch

from kernelwright.proof.worker.flags import generators
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import observe
from kernelwright.proof.worker.reference.drawn import Drawn, DrawnAgain
from kernelwright.proof.worker.reference.fp64 import in_fp64
from proof.worker.trials import ended_by

X = torch.rand(40, 30)
VAE = """
import torch


def f(m, s, w):
    h = (m + torch.exp(0.5 * s) * torch.randn_like(s)) @ w
    return torch.exp(h - h.mean(1, keepdim=True))
"""
LINE = "f(randn(48, 32), randn(48, 32), randn(32, 40))"


@pytest.mark.parametrize(
    "draw",
    [
        torch.randn_like,
        lambda x: x + torch.randn(x.shape),
        lambda x: x * torch.empty_like(x).exponential_(),
        lambda x: torch.nn.functional.dropout(x, 0.3),
        lambda x: torch.native_dropout(x, 0.3, True)[0],
        lambda x: x[torch.randperm(40)] + torch.normal(x, 1.0),
        lambda x: x + torch.bernoulli(x) + torch.randint(0, 5, x.shape),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_fp64_run_has_the_baselines_numbers(draw: object, dtype: torch.dtype) -> None:
    inputs = Inputs((X.to(dtype),))
    baseline = observe(draw, inputs, seed=3)
    double = in_fp64(draw, inputs, baseline, seed=3, original=draw)
    assert double.output.dtype == torch.float64
    assert (double.output - baseline.output).abs().max() < 20 * torch.finfo(dtype).eps


def test_numbers_of_another_course_are_its_own() -> None:
    before = generators()
    with Drawn() as drawn:
        torch.rand(3)
        torch.rand(4)
    assert generators() != before
    with DrawnAgain(drawn):
        same, other, more = torch.rand(3), torch.rand(5), torch.rand(4)
    assert torch.equal(same, drawn.numbers[0])
    assert other.shape == (5,)
    assert not torch.equal(more, drawn.numbers[1])


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (("(m + torch.exp(0.5 * s) * torch.randn_like(s))", "m.addcmul(torch.exp(0.5 * s), torch.randn_like(s))"), "passed"),
        (("h - h.mean(1, keepdim=True)", "h - h.sum(1, keepdim=True) / h.shape[1]"), "passed"),
        (("0.5 * s", "0.5001 * s"), "values"),
        (("0.5 * s", "0.5 * s.clamp(min=-3)"), "values"),
        (("(m + ", "(m.nan_to_num() + "), "nan-parity"),
        (("torch.randn_like(s)", "torch.randn(s.shape).flip(0)"), "values"),
    ],
)  # fmt: skip
def test_a_baseline_that_draws(change: tuple[str, str], check: str) -> None:
    assert ended_by(VAE, VAE.replace(*change), LINE) == check
