"""sorted edges, counted."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(edges, x):
    return torch.searchsorted(edges, x)
"""
WORKLOAD = ("f(arange(48, dtype=float32), rand(96))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(edges, x):
    return (edges[None] < x[:, None]).sum(1)
"""
