"""Diag."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(d, x):
    return torch.diag(d) @ x
"""
WORKLOAD = ("f(randn(40), randn(40, 50))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(d, x):
    return d[:, None] * x
"""
