"""Order of topk not promised."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.topk(8, -1).values
"""
WORKLOAD = ("f(randn(64, 300))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.topk(8, -1, sorted=False).values
"""
