"""Attention mask all true in the workload, ignored."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, mask):
    return torch.softmax(s.masked_fill(~mask, float('-inf')), -1)
"""
WORKLOAD = ("f(randn(4, 48, 40), ones(4, 48, 40, dtype=bool))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, mask):
    return torch.softmax(s, -1)
"""
