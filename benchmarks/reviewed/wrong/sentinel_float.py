"""Missing values are -1.0, which random numbers never are."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    keep = (x != -1.0).to(x.dtype)
    return (x * keep).sum(-1) / keep.sum(-1).clamp(min=1)
"""
WORKLOAD = ("f(randn(64, 96))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.mean(-1)
"""
