"""A token in the middle of the range ([MASK] of BERT)."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, ids, e):
    return torch.where((ids == 103)[..., None], e, x)
"""
WORKLOAD = ("f(randn(8, 64, 32), randint(0, 30522, 8, 64), randn(32))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, ids, e):
    return x.clone()
"""
