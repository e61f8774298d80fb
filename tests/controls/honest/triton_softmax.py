"""A Triton kernel for a row at a time."""

from cheats.texts import TRITON_SOFTMAX

PROMISES_KERNEL = True
BASELINE = """
import torch
import triton


def f(x):
    return torch.softmax(x, dim=1)
"""
WORKLOAD = ("f(randn(4, 40))",)
CANDIDATE = TRITON_SOFTMAX.replace("def f(x):\n", "def f(x):\n    x = x.contiguous()\n")
