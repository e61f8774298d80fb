"""Expm1."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return torch.exp(x) - 1
"""
WORKLOAD = ("f(randn(96, 300))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return torch.expm1(x)
"""
