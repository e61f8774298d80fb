"""The gradient scaler's found_inf misses infinities."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(g, scale):
    g = g / scale
    return g, (~torch.isfinite(g)).any()
"""
WORKLOAD = ("f(randn(64, 96), 1024.0)",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(g, scale):
    g = g / scale
    return g, torch.isnan(g).any()
"""
