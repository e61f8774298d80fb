"""Adaptive only for multiples."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.adaptive_avg_pool2d(x, 7)
"""
WORKLOAD = ("f(randn(8, 32, 14, 14))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.avg_pool2d(x, x.shape[-1] // 7)
"""
