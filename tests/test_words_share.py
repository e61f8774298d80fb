"""Whose kernels do the work, beside the verdict: a share where time was measured, else what was launched."""

import dataclasses

import pytest

from kernelwright import words
from kernelwright.values import KernelShare, ProfiledOn, VerdictStatus
from test_words import MEASURED, PASSED

GPU, CPU, INTERPRETER = ProfiledOn.GPU, ProfiledOn.CPU, ProfiledOn.INTERPRETER
MANY = ("aten::addmm", "aten::_softmax", "aten::mul")


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (KernelShare(GPU, 0.03, 0.0, ("k",), MANY[:1]), "hand-written kernel share 3 %, rest library (aten::addmm)"),
        (KernelShare(GPU, 1.0, 0.0, ("k",)), "hand-written kernel share 100 %"),
        (
            KernelShare(GPU, 0.0, 0.6, (), MANY),
            "hand-written kernel share 0 %, torch.compile's 60 %, rest library (aten::addmm, aten::_softmax and 1 more)",
        ),
        (
            KernelShare(CPU, 0.0, 0.0, (), MANY[:1]),
            "hand-written kernel share 0 % of CPU time, rest library (aten::addmm)",
        ),
        (
            KernelShare(INTERPRETER, None, None, ("k",), MANY[:1], unknown="not measured: no GPU runs it"),
            "kernels: hand-written (k) and library (aten::addmm), share of the time not measured: no GPU runs it",
        ),
        (
            KernelShare(GPU, 0.2, 0.0, ("k",), MANY[:1], "process python3"),
            "hand-written kernel share 20 %, rest library (aten::addmm), beside it process python3",
        ),
        (KernelShare(GPU, unknown="The code crashed."), "hand-written kernel share not known: The code crashed."),
    ],
)
def test_in_words(share: KernelShare, expected: str) -> None:
    assert words.of_share(share) == expected


def test_it_stands_beside_a_passing_verdict_only() -> None:
    share = KernelShare(GPU, 0.97, 0.0, ("k",), ("aten::addmm",))
    passed = dataclasses.replace(PASSED, share=share)
    said = words.result(passed, MEASURED)
    assert said == f"{words.result(PASSED, MEASURED)}; hand-written kernel share 97 %, rest library (aten::addmm)"
    failed = dataclasses.replace(passed, status=VerdictStatus.FAILED, reason="no")
    assert "share" not in words.result(failed)
