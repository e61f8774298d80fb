"""Reciprocal mul."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return x / (y.sum(1, keepdim=True) + 1e-8)
"""
WORKLOAD = ("f(randn(96, 300), rand(96, 300))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return x * (y.sum(1, keepdim=True) + 1e-8).reciprocal()
"""
