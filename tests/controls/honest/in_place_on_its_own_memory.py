"""In-place operators on memory that the call has allocated itself."""

from cheats.texts import SOFTMAX

BASELINE = SOFTMAX
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
import torch


def f(x):
    y = x - x.amax(dim=1, keepdim=True)
    y.exp_()
    return y.div_(y.sum(dim=1, keepdim=True))
"""
