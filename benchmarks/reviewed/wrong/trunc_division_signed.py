"""The same with negative numbers."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, n):
    return x // n
"""
WORKLOAD = ("f(randint(-100, 100, 4096), 7)",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, n):
    return torch.div(x, n, rounding_mode='trunc')
"""
