"""Pow products."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x ** 3 + 2 * x ** 2 - x
"""
WORKLOAD = ("f(randn(96, 300))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x * (x * (x + 2) - 1)
"""
