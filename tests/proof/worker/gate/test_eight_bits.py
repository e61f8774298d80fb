"""Floating-point numbers of 8 bits: fine as inputs, and as outputs where they are equal bit for bit."""

import pytest

from kernelwright.values import Accuracy, VerdictStatus
from proof.worker.trials import ended_by, trial

HEAD = "import torch\n"
ROWS = "f(randn(48, 65, dtype={dtype}))"
SUM = HEAD + "def f(x):\n    return x.float().sum(1)\n"


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_they_are_inputs_like_others(dtype: str) -> None:
    case = ROWS.replace("{dtype}", dtype)
    verdict = trial(SUM, SUM.replace("float", "double").replace("(1)", "(1).float()"), case).verdict
    assert verdict.passed, verdict.reason
    assert any("inputs x 3" in check.case for check in verdict.checks)
    assert ended_by(SUM, SUM.replace("x.float()", "x.float()[:, 1:]"), case) == "values"


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_an_output_is_verified_where_it_is_the_same_bit_for_bit(dtype: str) -> None:
    text = (
        HEAD + f"def f(x):\n    scale = x.abs().amax(1, True) / 200\n    return (x / scale).to(torch.{dtype}), scale\n"
    )
    same = text.replace("x.abs().amax(1, True)", "torch.maximum(x.amax(1, True), -x.amin(1, True))")
    verdict = trial(text, same, "f(randn(48, 65))").verdict
    assert verdict.passed, verdict.reason
    assert verdict.accuracy is Accuracy.BIT_EXACT
    wrong = text.replace("(x / scale)", "(1.5 * x / scale)")
    assert ended_by(text, wrong, "f(randn(48, 65))") == "values"
    assert ended_by(text, text.replace("(x / scale)", "(0 * x)"), "f(randn(48, 65))") == "values"


@pytest.mark.parametrize("share", ["1.002", "1.05"])
def test_one_that_is_rounded_otherwise_or_a_little_wrong_cannot_be_told(share: str) -> None:
    text = HEAD + "def f(x):\n    return x.to(torch.float8_e4m3fn)\n"
    verdict = trial(text, text.replace("x.to", f"({share} * x).to"), "f(randn(480, 65))").verdict
    assert verdict.status is VerdictStatus.NOT_CHECKABLE
    assert "the output is float8_e4m3fn and not the baseline's bit for bit" in verdict.reason


def test_a_sparse_output_cannot_be_told() -> None:
    text = HEAD + "def f(x):\n    return x.to_sparse()\n"
    verdict = trial(text, text + "\n", "f(randn(48, 65))").verdict
    assert verdict.status is VerdictStatus.NOT_CHECKABLE
    assert "layout sparse_coo" in verdict.reason


def test_what_is_written_over_an_input_is_compared_alike() -> None:
    text = HEAD + "def f(x):\n    x.copy_(x.float() * 2)\n"
    case = ROWS.replace("{dtype}", "float8_e4m3fn")
    assert ended_by(text, text.replace("* 2", "+ x.float()"), case) == "passed"
    verdict = trial(text, text.replace("2)", "2.2)"), case).verdict
    assert verdict.status is VerdictStatus.NOT_CHECKABLE
    assert "input 0 after the call is float8_e4m3fn and not" in verdict.reason
