"""A newer name where there is one, the older one elsewhere."""

from cheats.texts import SOFTMAX

BASELINE = SOFTMAX
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
import torch

try:
    from torch.special import softmax
except ImportError:
    from torch import softmax


def f(x):
    return softmax(x, dim=1)
"""
