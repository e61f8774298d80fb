"""Triplet terms."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(a, p, n):
    return ((a - p).pow(2).sum(1) - (a - n).pow(2).sum(1)).mean()
"""
WORKLOAD = ("f(randn(64, 32), randn(64, 32), randn(64, 32))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(a, p, n):
    return ((n - p) * (2 * a - n - p)).sum(1).mean()
"""
