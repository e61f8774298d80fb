"""Autograd functions go through the gate by their workload line, forward and backward."""

import pytest

from proof.worker.trials import ended_by

FUNCTION = """\
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dtype):
        ctx.save_for_backward(x)
        return (x * x).to(dtype)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient.to(x.dtype), None
"""
APPLY = "Square.apply(randn(10, 100, requires_grad=True), float32)"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (("(x * x)", "x.square()"), "passed"),
        (("(x * x)", "(x * x + 1)"), "values"),
        (("2 * x * gradient", "3 * x * gradient"), "gradient"),
    ],
)
def test_an_edit_of_it_ends_as_it_should(changes: tuple[str, str], expected: str) -> None:
    assert changes[0] in FUNCTION
    assert ended_by(FUNCTION, FUNCTION.replace(*changes), APPLY) == expected
