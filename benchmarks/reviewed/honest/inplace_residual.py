"""Control: right."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, r):
    y = x + r
    return F.layer_norm(y, y.shape[-1:]), y
"""
WORKLOAD = ("f(randn(64, 96), randn(64, 96))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, r):
    y = r.clone().add_(x)
    return F.layer_norm(y, y.shape[-1:]), y
"""
