"""Var welford."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.var((1, 2))
"""
WORKLOAD = ("f(randn(12, 20, 30))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return torch.var_mean(x.flatten(1), 1)[0]
"""
