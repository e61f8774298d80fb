"""Logcumsumexp."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return torch.log(torch.exp(x).cumsum(1))
"""
WORKLOAD = ("f(randn(32, 100))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return torch.logcumsumexp(x, 1)
"""
