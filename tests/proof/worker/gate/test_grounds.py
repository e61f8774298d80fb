"""Which data say anything of a candidate: NaN where the answer can hold one."""

import pytest
import torch

from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.gate.grounds import tells_nothing
from kernelwright.proof.worker.languages.python.uses import compiles
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.variation import Variation

PLANTED = Variation("f(randn(4))", None, 0, derived=True, data="NaN planted")


@pytest.mark.parametrize(
    ("dtype", "nothing"),
    [(torch.float64, False), (torch.complex64, False), (torch.int64, True), (torch.bool, True)],
)
def test_planted_nan_tells_where_the_answer_has_room_for_one(dtype: torch.dtype, nothing: bool) -> None:
    answer = Observation(torch.ones(4, dtype=dtype))
    assert tells_nothing(PLANTED, Oracle(answer, answer)) is nothing


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import torch\n@torch.compile\ndef f(x): return x", True),
        ("import torch as t\nf = t.compile(abs)", True),
        ("from torch import compile", True),
        ("import torch\ntorch._dynamo.optimize()", True),
        ("import torch\n# torch.compile would not help here", False),
        ("def f(x):\n    'unlike torch.compile'", False),
        ("def f(:", False),
    ],
)
def test_what_uses_the_compiler(text: str, found: bool) -> None:
    assert compiles(text) is found
