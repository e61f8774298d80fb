"""Dot item."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return (x * y).sum().item()
"""
WORKLOAD = ("f(randn(96, 300), randn(96, 300))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return torch.einsum('ij,ij->', x, y).item()
"""
