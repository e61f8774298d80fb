"""Bf16 var."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return ((x - x.mean(1, keepdim=True)) ** 2).mean(1)
"""
WORKLOAD = ("f(randn(96, 300, dtype=bfloat16))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.float().var(1, correction=0).to(x.dtype)
"""
