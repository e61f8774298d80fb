"""Numbers that stand for minus infinity: moved further away, they show that an honest mask is right and excuse no other."""

import pytest

from kernelwright.proof.worker.gate.stand_ins import further
from proof.worker.trials import ended_by

CAUSAL = """
import torch


def f(q, k, v):
    s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    m = torch.ones(s.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax(s.masked_fill(m, -1e9), -1) @ v
"""
LINE = "f(randn(2, 2, 33, 16), randn(2, 2, 33, 16), randn(2, 2, 33, 16))"
INFINITE = CAUSAL.replace("-1e9", "float('-inf')")
FILLED = CAUSAL.replace("torch.softmax(s.masked_fill(m, -1e9), -1) @ v", "s.masked_fill(m, -1e9)")
SAFE = """
import torch


def f(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
"""


def test_large_negative_numbers_alone_are_moved() -> None:
    moved = further("y = where(m, -1e4, x) + 2e9 - 5 + f(-100, -10000)", 1e30)
    assert moved == "y = where(m, -1e+30, x) + 2000000000.0 - 5 + f(-100, -1e+30)"
    assert further("y = -x - 1e9 + float('-inf') - (-1e30)", 1e30) is None


@pytest.mark.parametrize(
    ("original", "candidate", "check"),
    [
        (CAUSAL, INFINITE, "passed"),
        (CAUSAL, SAFE, "passed"),
        (SAFE, INFINITE, "passed"),
        (CAUSAL, CAUSAL.replace("-1e9", "-1e1"), "values"),
        (CAUSAL, CAUSAL.replace("-1e9", "-1e3"), "values"),
        (CAUSAL, INFINITE.replace("triu(1)", "triu(2)"), "values"),
        (CAUSAL, INFINITE.replace(" @ v", ".nan_to_num() @ (v * 1.1)"), "values"),
        (FILLED, FILLED.replace("-1e9", "-1e30"), "values"),
        (FILLED, FILLED.replace(" * q.shape[-1] ** -0.5", ""), "values"),
    ],
)
def test_masks(original: str, candidate: str, check: str) -> None:
    assert ended_by(original, candidate, LINE) == check
