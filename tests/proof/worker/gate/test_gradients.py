"""Gradients: right where the candidate's output carries one, and there where the workload asks for them."""

from dataclasses import replace

import pytest

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.trial import run_trial
from kernelwright.values import Check
from proof.worker.trials import QUICK, ended_by, trial, workload

MODEL = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(24, 16)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return torch.tanh(self.linear(self.drop(x))).sum(dim=1)


def get_inputs():
    return [torch.randn(12, 24)]
"""
FUNCTION = """
import torch


def f(x, w):
    return torch.sigmoid(x @ w)
"""
OWN = """
import torch


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        y = torch.sigmoid(x @ w)
        ctx.save_for_backward(x, w, y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, w, y = ctx.saved_tensors
        g = gradient * y * (1 - y)
        return g @ w.t(), x.t() @ g


def f(x, w):
    return Own.apply(x, w)
"""
ASKED = "f(randn(20, 24, requires_grad=True), randn(24, 8, requires_grad=True))"
NOT_ASKED = "f(randn(20, 24), randn(24, 8))"


def gradient_checks(baseline: str, candidate: str, *cases: str) -> list[Check]:
    verdict = trial(baseline, candidate, *cases).verdict
    assert verdict.passed, verdict.reason
    return [check for check in verdict.checks if check.name == "gradient"]


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        ("g @ w.t()", "g @ w.t() * 1", "passed"),
        ("g @ w.t()", "torch.zeros_like(x)", "gradient"),
        ("y * (1 - y)", "y", "gradient"),
        ("x.t() @ g", "None", "gradient"),
        ("g @ w.t(),", "torch.where(torch.arange(20)[: len(x), None] == 19, 0.0, g @ w.t()),", "gradient"),  # the last row
        ("return Own", "return torch.no_grad()(Own.apply)(x, w)\n    return Own", "gradient"),
        ("g = gradient", "raise ValueError\n        g = gradient", "gradient"),
        ("g = gradient", "raise NotImplementedError\n        g = gradient", "gradient"),
    ],
)  # fmt: skip
def test_a_backward_and_what_ends_it(old: str, new: str, check: str) -> None:
    assert ended_by(FUNCTION, OWN.replace(old, new, 1), ASKED) == check


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("g = gradient", "g = gradient.as_strided(gradient.shape, (gradient.stride(0) or gradient.shape[1], 1))"),
        ("g = gradient", "g = gradient.as_strided(gradient.shape, (gradient.stride(0), 1))"),
    ],
)
def test_a_gradient_that_is_taken_for_contiguous(old: str, new: str) -> None:
    assert ended_by(FUNCTION, OWN.replace(old, new, 1), ASKED) == "gradient"


def test_equal_gradients_that_cancel_are_held_against_nobody() -> None:
    softmax = FUNCTION.replace("torch.sigmoid(x @ w)", "torch.softmax(x @ w, 0)")
    own = OWN.replace("torch.sigmoid(x @ w)", "torch.softmax(x @ w, 0)").replace(
        "gradient * y * (1 - y)", "y * gradient - y * (gradient * y).sum(0, keepdim=True)"
    )
    assert ended_by(softmax, own, ASKED) == "passed"


@pytest.mark.parametrize("stride", ["(0, 1)", "(1, 20)"])
def test_in_which_layouts_they_arrive(stride: str) -> None:
    raising = OWN.replace("g = gradient", f"assert gradient.stride() != {stride}\n        g = gradient", 1)
    assert ended_by(FUNCTION, raising, ASKED) == "gradient"


def test_gradients_arrive_in_other_layouts_where_the_backward_is_the_candidates_own() -> None:
    cases = [check.case for check in gradient_checks(FUNCTION, OWN, ASKED)]
    assert [case.partition("gradients that arrive ")[2] for case in cases] == ["", "expanded", "transposed", ""]
    assert len(gradient_checks(FUNCTION, FUNCTION, ASKED)) == 2


def test_gradients_are_compared_where_nobody_asks() -> None:
    assert gradient_checks(FUNCTION, OWN, NOT_ASKED)
    assert ended_by(FUNCTION, OWN.replace("g @ w.t()", "torch.zeros_like(x)"), NOT_ASKED) == "gradient"


@pytest.mark.parametrize(
    "lost",
    ["torch.sigmoid(x @ w).detach()", "torch.sigmoid(x @ w.data)", "torch.no_grad()(torch.sigmoid)(x @ w)"],
)
def test_a_graph_that_operators_of_torch_have_is_not_cut(lost: str) -> None:
    cut = FUNCTION.replace("torch.sigmoid(x @ w)", lost)
    assert ended_by(FUNCTION, cut, NOT_ASKED) == "gradient"
    assert ended_by(cut, FUNCTION, NOT_ASKED) == "gradient"
    assert ended_by(cut, cut + "\n", NOT_ASKED) == "passed"


def test_who_raises_on_gradients_is_forward_only_and_says_so_first() -> None:
    kernel = FUNCTION.replace("import torch", "import numpy\nimport torch").replace(
        "x @ w)", "torch.from_numpy(numpy.matmul(x.numpy(), w.numpy())))"
    )
    verdict = trial(FUNCTION, kernel, NOT_ASKED).verdict
    assert verdict.caveats[-1] == "forward only: gradients are lost"
    assert ended_by(FUNCTION, kernel, ASKED) == "gradient"
    assert ended_by(OWN, kernel, NOT_ASKED) == "gradient"
    silent = kernel.replace(
        "numpy.matmul(x.numpy(), w.numpy())", "numpy.matmul(x.detach().numpy(), w.detach().numpy())"
    )
    assert ended_by(FUNCTION, silent, NOT_ASKED) == "gradient"


def test_what_the_kernel_of_a_strategy_lacks_is_told() -> None:
    in_part = FUNCTION.replace("x @ w", "x @ w.detach()")
    cases = workload(NOT_ASKED)
    job = Trial("/nowhere/kernel.py", FUNCTION, FUNCTION, in_part, cases, False, QUICK)
    for known, told in ((False, ()), (True, ("forward only: none reaches input 1",))):
        assert run_trial(replace(job, forward_only=known), lambda stage: None).verdict.caveats == told


def test_what_is_not_compared_is_said_first() -> None:
    fails = OWN.replace("g = gradient", "raise ValueError\n        g = gradient", 1)
    verdict = trial(fails, fails + "\n", NOT_ASKED).verdict
    assert verdict.caveats == ("gradients not compared",)
    assert "gradients not compared: of the baseline its backward raises ValueError" in verdict.how


def test_a_backward_leaves_the_sums_of_gradients_alone() -> None:
    own = """

class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient @ weight, gradient.t() @ x
"""
    text = MODEL.replace(
        "self.linear(self.drop(x))", "Linear.apply(self.drop(x), self.linear.weight) + self.linear.bias"
    )
    assert ended_by(MODEL, text + own) == "passed"
    added = own.replace("return gradient @", "weight.grad = gradient.t() @ x\n        return gradient @")
    assert ended_by(MODEL, text + added) == "gradient"


def test_a_module_that_raises_on_gradients_is_forward_only() -> None:
    raising = MODEL.replace("return torch.tanh", "assert not torch.is_grad_enabled()\n        return torch.tanh")
    (check,) = gradient_checks(MODEL, raising)
    assert check.detail.startswith("forward only")
    assert "AssertionError" in check.detail


def test_a_module_with_gradients_has_the_right_ones() -> None:
    checks = gradient_checks(
        MODEL, MODEL.replace("self.linear(self.drop(x))", "self.drop(x) @ self.linear.weight.t() + self.linear.bias")
    )
    assert [check.case for check in checks] == [
        "get_inputs(), 7 rows at most, seed 4",
        "get_inputs(), 2 rows at most, seed 4",
    ]
    frozen = MODEL.replace(
        "self.linear(self.drop(x))", "nn.functional.linear(self.drop(x), self.linear.weight, self.linear.bias.detach())"
    )
    assert ended_by(MODEL, frozen) == "gradient"
    assert ended_by(MODEL, f"import triton\n{frozen}") == "gradient"
