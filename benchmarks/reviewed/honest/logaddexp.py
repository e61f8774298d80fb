"""Logaddexp."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return torch.log(torch.exp(x) + torch.exp(y))
"""
WORKLOAD = ("f(randn(96, 300), randn(96, 300))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return torch.logaddexp(x, y)
"""
