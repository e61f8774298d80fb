"""NaN and infinities in the inputs: what must be seen in the output, and what may be left out."""

import dataclasses

import pytest

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.gate.grounds import stops_the_gpu
from kernelwright.proof.worker.gate.nonfinite import SPREADS
from kernelwright.proof.worker.trial import run_trial
from kernelwright.proof.worker.variation import Variation
from kernelwright.values import Effort
from proof.worker.trials import QUICK, ended_by, trial, workload

HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"


def function(body: str, arguments: str = "x") -> str:
    return HEAD + f"def f({arguments}):\n    return {body}\n"


@pytest.mark.parametrize(
    ("baseline", "candidate", "check"),
    [
        # A NaN that the baseline shows is shown.
        ("torch.relu(x)", "torch.fmax(x, torch.zeros_like(x))", "nan-parity"),
        ("x.amax(1)", "x.nan_to_num(-3e38).amax(1)", "nan-parity"),
        ("torch.relu(x)", "torch.where(x < 0, 0.0, x)", "passed"),
        ("torch.softmax(x, 1)", "(e := torch.exp(x - x.amax(1, keepdim=True))) / e.sum(1, keepdim=True)", "passed"),
        # It stays in its row.
        ("torch.softmax(x, 1)", "torch.softmax(x, 1) + 0 * x.sum()", "nan-parity"),
        # Infinities: an order of subtraction of their own, but no number for one.
        ("(x * 2 - x).sum(1)", "x.sum(1)", "passed"),
        ("torch.relu(x)", "torch.clamp(x, 0, 1e30)", "nan-parity"),
        ("torch.logsumexp(x, 1)", "(m := x.amax(1)) + torch.exp(x - m[:, None]).sum(1).log()", "passed"),
    ],
)  # fmt: skip
def test_a_kernel_and_what_ends_it(baseline: str, candidate: str, check: str) -> None:
    assert ended_by(function(baseline), function(candidate), "f(randn(40, 48))") == check


def test_a_lost_nan_is_told_with_what_keeps_it() -> None:
    relu, dropping = function("torch.relu(x)"), function("torch.fmax(x, torch.zeros_like(x))")
    lost, invented = (trial(*pair, "f(randn(8, 8))").verdict.reason for pair in ((relu, dropping), (dropping, relu)))
    assert "where the baseline has nan" in lost
    assert "propagate_nan" in lost
    assert "nan at (0, 0) where the baseline has 0" in invented
    assert "propagate_nan" not in invented


def test_zeros_need_not_be_multiplied() -> None:
    """A product with one-hot rows spreads a NaN through `0 * NaN`; a sum by index does not read what it skips."""
    product = function("F.one_hot(at, 20).to(x.dtype).t() @ x", "x, at")
    by_index = function("torch.zeros(20, x.shape[1], dtype=x.dtype).index_add_(0, at, x)", "x, at")
    case = "f(randn(60, 24), randint(0, 20, 60))"
    accepted = [
        c
        for c in trial(product, by_index, case).verdict.checks
        if "0 * NaN" in c.detail or "multiplies by zero" in c.detail
    ]
    assert [c.case.rpartition(", ")[2] for c in accepted] == ["NaN planted"]
    spread = trial(by_index, product, case).verdict
    assert spread.passed
    assert SPREADS in spread.caveats


TRIANGLE = function("x @ torch.ones(x.shape[1], x.shape[1]).triu()")


@pytest.mark.parametrize("how", [{"strict_non_finite": True}, {"effort": Effort.PARANOID}])
def test_what_spreads_a_nan_is_refused_where_that_is_asked_for(how: dict) -> None:
    job = Trial(
        "/nowhere/kernel.py",
        function("x.cumsum(1)"),
        function("x.cumsum(1)"),
        TRIANGLE,
        workload("f(randn(16, 24))"),
        measure=False,
        limits=dataclasses.replace(QUICK, **how),
    )
    assert [check.name for check in run_trial(job, lambda stage: None).verdict.failed_checks] == ["nan-parity"]


def test_a_constant_task_is_told_by_its_nan_alone() -> None:
    baseline = function("F.gelu((y := x.amax(1, keepdim=True)) - y.mean(1, keepdim=True))")
    assert ended_by(baseline, function("torch.zeros(x.shape[0], 1)"), "f(randn(40, 48))") == "nan-parity"
    assert ended_by(baseline, function("x.amax(1, keepdim=True) * 0"), "f(randn(40, 48))") == "passed"


@pytest.mark.parametrize(
    ("text", "data", "scale", "expected"),
    [
        ("F.binary_cross_entropy(x, y)", "negative", 1.0, True),
        ("F.binary_cross_entropy(x, y)", "", 3.0, True),
        ("F.binary_cross_entropy(x, y)", "", 1.0, False),
        ("F.binary_cross_entropy_with_logits(x, y)", "negative", 1.0, False),
        ("table[(x * 8).long()]", "NaN planted", 1.0, True),
        ("table[x.to(torch.int64)]", "large offset", 1.0, True),
        ("table[x.to(torch.int32)]", "large offset", 1.0, True),
        ("x.to(torch.int8)", "mixed magnitudes", 1.0, False),  # nothing takes 8 bits as an index
        ("table[(x * 8).long()]", "sorted", 1.0, False),
        ("torch.relu(x)", "NaN planted", 1.0, False),
    ],
)
def test_data_on_which_an_operator_asserts_on_the_gpu(text: str, data: str, scale: float, expected: bool) -> None:
    assert stops_the_gpu(Variation("", None, 0, scale=scale, data=data), text) is expected
