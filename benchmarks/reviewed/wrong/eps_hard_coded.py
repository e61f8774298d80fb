"""Eps argument ignored."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w
"""
WORKLOAD = ("f(randn(64, 96), randn(96), 1e-6)",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w
"""
