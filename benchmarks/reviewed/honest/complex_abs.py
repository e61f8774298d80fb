"""Complex abs."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return torch.abs(torch.fft.fft(x))
"""
WORKLOAD = ("f(randn(32, 64))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return (lambda r: torch.cat([r, r[:, 1:(x.shape[1] + 1) // 2].flip(1)], 1).abs())(torch.fft.rfft(x))
"""
