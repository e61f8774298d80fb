"""Floating-point numbers of 8 bits: fine as inputs, and as outputs said to be beyond what can be told."""

import pytest

from kernelwright.values import VerdictStatus
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


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("x.to(torch.float8_e4m3fn)", "result is float8_e4m3fn"),
        ("(x, x.to(torch.float8_e5m2))", "result is float8_e5m2"),
        ("x.to_sparse()", "layout sparse_coo"),
    ],
)
def test_an_output_that_cannot_be_told_from_a_wrong_one_says_so(returned: str, said: str) -> None:
    text = HEAD + f"def f(x):\n    return {returned}\n"
    verdict = trial(text, text + "\n", "f(randn(48, 65))").verdict
    assert verdict.status is VerdictStatus.NOT_CHECKABLE
    assert said in verdict.reason


def test_nor_can_one_that_is_written_over_an_input() -> None:
    text = HEAD + "def f(x):\n    x.copy_(x.float() * 2)\n"
    verdict = trial(text, text.replace("2)", "2.2)"), ROWS.replace("{dtype}", "float8_e4m3fn")).verdict
    assert verdict.status is VerdictStatus.NOT_CHECKABLE
    assert "result is float8_e4m3fn" in verdict.reason
