"""Inner reassoc."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, v):
    return (x @ w) @ v
"""
WORKLOAD = ("f(randn(48, 64), randn(64, 40), randn(40, 8))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, v):
    return x @ (w @ v)
"""
