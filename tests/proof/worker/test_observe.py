"""What a call has written to, as far as its tensors tell."""

import pytest
import torch

from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import observe

NAN = float("nan")


@pytest.mark.parametrize(
    ("before", "written", "expected"),
    [
        ([NAN, NAN], None, True),  # memory for results: NaN may be what was computed
        ([NAN, NAN], [NAN, NAN], True),
        ([NAN, NAN], [1.0, 2.0], True),
        ([NAN, 1.0], None, False),
        ([1.0, 2.0], None, False),
        ([1.0, 2.0], [1.0, 2.0], False),
        ([1.0, 2.0], [1.0, NAN], True),
        ([], None, False),
    ],
)
def test_what_counts_as_written(before: list[float], written: list[float] | None, expected: bool) -> None:
    def call(x: torch.Tensor) -> None:
        if written is not None:
            x.copy_(torch.tensor(written))

    seen = observe(call, Inputs((torch.tensor(before),), {}), seed=0)
    assert list(seen.changed_inputs) == ([0] if expected else [])
