"""Item loss."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return F.cross_entropy(x, y).item()
"""
WORKLOAD = ("f(randn(64, 100), randint(0, 100, 64))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return (torch.logsumexp(x, 1) - x.gather(1, y[:, None]).squeeze(1)).mean().item()
"""
