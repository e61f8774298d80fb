"""Argmax chunked k."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return (x @ w).argmax(1)
"""
WORKLOAD = ("f(randn(48, 64), randn(64, 40))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return sum(a @ b for a, b in zip(x.split(16, 1), w.split(16, 0))).argmax(1)
"""
