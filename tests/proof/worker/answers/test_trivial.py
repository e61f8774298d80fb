"""What would pass in the place of an output is told: zeros, a constant, a copy of an input."""

import pytest
import torch

from kernelwright.proof.worker.answers.expected import Expected
from kernelwright.proof.worker.answers.trivial import Trivial, told, trivial_numbers, trivial_values
from kernelwright.values import Verdict
from proof.worker.trials import trial

ZEROS, CONSTANT, COPY = Trivial
ROWS = "f(randn(48, 65))"
HEAD = "import torch\n"
NORM = """
import torch


class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.BatchNorm1d(65)
        self.eval()

    def forward(self, x):
        return self.inner(x)
"""


def returning(expression: str) -> str:
    return HEAD + f"def f(x):\n    return {expression}\n"


def verdict_of(text: str, case: str = ROWS) -> Verdict:
    found = trial(text, text + "\n", case).verdict
    assert found.passed, found.reason
    return found


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("x * 1.0", "weak for this kernel: a copy of an input would pass"),
        ("x * 0", "weak for this kernel: zeros would pass"),
        ("torch.full_like(x, 3.0)", "weak for this kernel: one constant would pass"),
        ("torch.softmax(x, 1)", ""),
        ("torch.relu(x)", ""),  # all positive in some cases, all negative in others
        ("x.argmax(1)", ""),
    ],
)
def test_what_passes_every_comparison_is_said_with_the_verdict(expression: str, words: str) -> None:
    how = verdict_of(returning(expression)).how
    assert how == ", ".join(part for part in ("on the CPU", words) if part)


def test_how_many_runs_end_each_is_told() -> None:
    checks = verdict_of(NORM, "Norm()(randn(48, 65))").checks
    (detail,) = [check.detail for check in checks if check.name == "trivial-answers"]
    counts = {name: int(count) for name, count in (part.split(" would fail ") for part in detail.split(", "))}
    assert list(counts) == list(Trivial)
    assert 0 < counts["a copy of an input"] < counts["zeros"]  # fresh statistics are nearly the identity


def test_nothing_is_said_of_a_verdict_that_failed() -> None:
    failed = trial(returning("x * 1.0"), returning("x * 2.0"), ROWS).verdict
    assert not failed.passed
    assert "weak" not in failed.how


@pytest.mark.parametrize(
    ("output", "given", "expected"),
    [
        (torch.zeros(5, 7), [], {ZEROS, CONSTANT}),
        (torch.full((5, 7), 2.0), [], {CONSTANT}),
        (torch.full((5, 7), float("nan")), [], {CONSTANT}),
        (torch.arange(35.0), [torch.ones(35), torch.arange(35.0)], {COPY}),
        (torch.arange(35.0), [torch.arange(35.0).reshape(5, 7)], set()),
        (torch.arange(35.0), [torch.arange(35.0, dtype=torch.float64)], set()),
        (torch.arange(35.0), [torch.arange(35.0, device="meta"), torch.arange(35.0).to_sparse()], set()),
        (torch.arange(9000.0), [torch.arange(9000.0).clamp(max=8000)], set()),  # alike at its beginning only
    ],
)
def test_numbers(output: torch.Tensor, given: list[torch.Tensor], expected: set[Trivial]) -> None:
    assert trivial_numbers(Expected(None, output), 1e-5, given) == expected


@pytest.mark.parametrize(
    ("output", "given", "expected"),
    [
        (torch.tensor([0, 0]), [], {ZEROS, CONSTANT}),
        (torch.tensor([3, 3]), [], {CONSTANT}),
        (torch.tensor([3]), [], set()),
        (torch.tensor([3, 4]), [torch.tensor([3, 4])], {COPY}),
        (torch.tensor([True, False]), [torch.tensor([1, 0])], set()),
    ],
)
def test_whole_numbers(output: torch.Tensor, given: list[torch.Tensor], expected: set[Trivial]) -> None:
    assert trivial_values(output, given) == expected


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (set(), ""),
        ({ZEROS, CONSTANT}, "zeros would pass"),
        ({CONSTANT}, "one constant would pass"),
        ({ZEROS, CONSTANT, COPY}, "zeros or a copy of an input would pass"),
    ],
)
def test_words(answers: set[Trivial], words: str) -> None:
    assert told(answers) == words
