"""Amax grad."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.amax(1)
"""
WORKLOAD = ("f(randn(96, 300, requires_grad=True))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.max(1).values
"""
