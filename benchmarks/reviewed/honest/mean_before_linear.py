"""Mean before linear."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return F.linear(x, w, b).mean(1)
"""
WORKLOAD = ("f(randn(8, 20, 48), randn(36, 48), randn(36))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return F.linear(x.mean(1), w, b)
"""
