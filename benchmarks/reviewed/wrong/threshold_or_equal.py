"""X >= 0.5."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, t):
    return (x > t).to(x.dtype)
"""
WORKLOAD = ("f(rand(64, 96), 0.5)",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, t):
    return (x >= t).to(x.dtype)
"""
