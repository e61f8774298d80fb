"""Bias of one element, zero."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w, b):
    return x @ w + b
"""
WORKLOAD = ("f(randn(64, 96), randn(96), zeros(1))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w, b):
    return x @ w
"""
