"""Fp16 rms."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, g):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * g
"""
WORKLOAD = ("f(randn(96, 300, dtype=float16), rand(300, dtype=float16))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, g):
    return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6) * g.float()).half()
"""
