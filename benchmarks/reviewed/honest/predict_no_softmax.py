"""Predict no softmax."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return torch.softmax(F.linear(x, w), 1).argmax(1)
"""
WORKLOAD = ("f(randn(48, 64), randn(40, 64))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return F.linear(x, w).argmax(1)
"""
