"""The gate on modules: parameters, buffers, batch sizes, and what a fresh initialisation hides."""

import pytest

from proof.worker.trials import ended_by, trial

MODEL = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)) + self.bias)


def get_inputs():
    return [torch.randn(24, 32)]


def get_init_inputs():
    return [32]
"""
FORWARD = "torch.relu(self.norm(self.linear(x)) + self.bias)"


def test_an_honest_rewrite_passes() -> None:
    verdict = trial(MODEL, MODEL.replace(FORWARD, "(self.norm(self.linear(x)) + self.bias).clamp(min=0)")).verdict
    assert verdict.passed, verdict.reason
    names = {check.name for check in verdict.checks}
    assert {"parameters", "values", "nan-poison", "inputs-unchanged", "alias", "settings"} <= names
    assert any("batch 7" in check.case for check in verdict.checks)


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        (FORWARD, "torch.relu(self.norm(self.linear(x)))", "values"),  # a bias of zeros
        ("torch.relu(", "torch.tanh(", "values"),
        ("self.norm = nn.BatchNorm1d(width)", "self.norm = nn.BatchNorm1d(width, momentum=0.5)", "values"),
        ("self.norm(self.linear(x))", "nn.functional.batch_norm(self.linear(x), None, None, self.norm.weight, "
         "self.norm.bias, training=True)", "state"),
        ("nn.Linear(width, width)", "nn.Linear(width, width, bias=False)", "parameters"),
        ("self.bias = nn.Parameter(torch.zeros(width))", "self.bias = nn.Parameter(torch.zeros(1, width))", "parameters"),
        ("super().__init__()", "super().__init__(); raise ValueError(width)", "runs"),
        ("super().__init__()", "super().__init__(); self.eval()", "parameters"),
        ("return [torch.randn(24, 32)]", "return [torch.zeros(24, 32)]", "passed"),
        ("x):\n        return", "x):\n        assert len(x) == 24\n        return", "runs"),
    ],
)  # fmt: skip
def test_a_changed_module_is_ended_by(old: str, new: str, check: str) -> None:
    assert old in MODEL
    assert ended_by(MODEL, MODEL.replace(old, new)) == check


def test_a_rewrite_without_gradients_is_refused_whatever_it_imports() -> None:
    text = MODEL.replace("return torch.relu(", "with torch.no_grad(): return torch.relu(")
    assert ended_by(MODEL, text) == ended_by(MODEL, f"import triton\n{text}") == "gradient"


def test_a_module_called_by_a_workload_line() -> None:
    text = MODEL.replace("class Model", "class Net")
    assert ended_by(text, text, "Net(32)(randn(24, 32))") == "passed"
    assert ended_by(text, text.replace("+ self.bias", ""), "Net(32)(randn(24, 32))") == "values"
