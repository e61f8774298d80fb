"""torch.empty, all of it written afterwards."""

from cheats.texts import SOFTMAX

BASELINE = SOFTMAX
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
import torch


def f(x):
    out = torch.empty_like(x)
    for rows, target in zip(x.split(16), out.split(16)):
        torch.softmax(rows, dim=1, out=target)
    return out
"""
