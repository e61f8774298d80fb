"""Eps added to the product."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(a, b):
    return F.cosine_similarity(a, b, dim=-1)
"""
WORKLOAD = ("f(randn(64, 96), randn(64, 96))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(a, b):
    return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1) + 1e-8)
"""
