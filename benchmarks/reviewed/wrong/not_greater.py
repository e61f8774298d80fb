"""NaN <= t is False, not (NaN > t) is True."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, t):
    return x <= t
"""
WORKLOAD = ("f(randn(64, 96), 0.5)",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, t):
    return ~(x > t)
"""
