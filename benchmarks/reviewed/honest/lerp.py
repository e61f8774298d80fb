"""Lerp."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(a, b, t):
    return a * (1 - t) + b * t
"""
WORKLOAD = ("f(randn(96, 300), randn(96, 300), rand(96, 300))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(a, b, t):
    return torch.lerp(a, b, t)
"""
