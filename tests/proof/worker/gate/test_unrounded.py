"""A baseline that rounds to 16 bits inside: what rounds less is as accurate, what is wrong stays wrong."""

import pytest

from kernelwright.proof.worker.reference.widened import widened
from proof.worker.trials import ended_by, trial

HEAD = "import torch\nfrom torch.nn import functional as F\ndef f(x, w, b):\n    return "
LINE = "f(randn(48, 64), randn(40, 64), randn(40))"
BASELINE = HEAD + "F.linear(x.half(), w.half()).float() + b\n"


def test_types_of_16_bits_are_widened_on_request() -> None:
    assert (
        widened("y = x.half() + x.to(torch.bfloat16).float()", narrow=True)
        == "y = x.double() + x.to(torch.float64).double()"
    )
    assert widened("y = x.half() + x.to(torch.half).float()") == "y = x.half() + x.to(torch.half).double()"
    assert widened("y = x.float() + self.half", narrow=True) is None
    assert widened("y = torch.finfo(torch.float16).max", narrow=True) is None


@pytest.mark.parametrize(
    ("expression", "check"),
    [
        ("F.linear(x.half().float(), w.half().float(), b)", "passed"),
        ("F.linear(x, w, b)", "passed"),
        ("F.linear(x.double(), w.double(), b.double()).float()", "passed"),
        ("(x.half()[:, :32] @ w.half()[:, :32].t()).float() + (x.half()[:, 32:] @ w.half()[:, 32:].t()).float() + b", "passed"),
        ("F.linear(x.bfloat16(), w.bfloat16()).float() + b", "accuracy"),
        ("F.linear(x, w, b) * 1.01", "values"),
        ("F.linear(x, w)", "values"),
        ("F.linear(x, w, b.abs())", "values"),
        ("F.linear(x.clamp(max=3), w, b)", "values"),
        ("F.linear(x.nan_to_num(), w, b)", "nan-parity"),
    ],
)  # fmt: skip
def test_a_baseline_that_rounds(expression: str, check: str) -> None:
    assert ended_by(BASELINE, HEAD + expression + "\n", LINE) == check


def test_timed_calls_and_gradients() -> None:
    verdict = trial(BASELINE, HEAD + "F.linear(x, w, b)\n", LINE, measure=True).verdict
    assert not verdict.failed_checks, verdict.reason
    training = LINE.replace("64),", "64, requires_grad=True),", 1)
    assert ended_by(BASELINE, HEAD + "F.linear(x, w, b)\n", training) == "passed"
    assert ended_by(BASELINE, HEAD + "F.linear(x + (x - x.detach()), w, b)\n", training) == "gradient"


def test_a_fault_on_large_data_is_none_of_rounding() -> None:
    softmax = HEAD + "torch.softmax((x.bfloat16() @ w.t().bfloat16()).float() + b, 1)\n"
    overflows = HEAD + "(lambda e: e / e.sum(1, keepdim=True))(torch.exp(x @ w.t() + b))\n"
    assert ended_by(softmax, HEAD + "torch.softmax(x @ w.t() + b, 1)\n", LINE) == "passed"
    assert ended_by(softmax, overflows, LINE) == "nan-parity"


def test_what_is_made_of_the_roundings_is_no_rounding() -> None:
    low = HEAD + "(x - x.bfloat16().float()) @ w.t() + 0 * b\n"
    assert ended_by(low, HEAD + "torch.zeros_like(x @ w.t()) + 0 * b\n", LINE) == "values"
    assert ended_by(low, HEAD + "torch.sub(x, x.bfloat16()) @ w.t() + 0 * b\n", LINE) == "passed"


def test_rounding_is_not_left_out_where_it_is_all_that_is_done() -> None:
    rounds = HEAD.replace("x, w, b", "x") + "x.bfloat16().float()\n"
    line = "f(randn(48, 64))"
    assert ended_by(rounds, HEAD.replace("x, w, b", "x") + "x * 1.0\n", line) == "accuracy"
    assert ended_by(rounds, HEAD.replace("x, w, b", "x") + "x.to(torch.bfloat16).to(torch.float32)\n", line) == "passed"
