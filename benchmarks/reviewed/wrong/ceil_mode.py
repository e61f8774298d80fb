"""Odd sizes are never tried, 14 is below 16."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.max_pool2d(x, 2, ceil_mode=True)
"""
WORKLOAD = ("f(randn(8, 32, 14, 14))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.max_pool2d(x, 2, ceil_mode=False)
"""
