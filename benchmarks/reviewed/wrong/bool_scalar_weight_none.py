"""Optional arguments dropped."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w=None, b=None):
    return F.layer_norm(x, x.shape[-1:], w, b)
"""
WORKLOAD = ("f(randn(64, 96))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w=None, b=None):
    return F.layer_norm(x, x.shape[-1:])
"""
