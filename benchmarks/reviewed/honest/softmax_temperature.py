"""Softmax temperature."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, t):
    return torch.softmax(x / t, dim=1)
"""
WORKLOAD = ("f(randn(96, 300), 0.07)",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, t):
    return torch.softmax(x * (1.0 / t), dim=1)
"""
