"""Dim ignored."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, dim=-1):
    return torch.softmax(x, dim)
"""
WORKLOAD = ("f(randn(64, 96), dim=-1)",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, dim=-1):
    return torch.softmax(x, -1)
"""
