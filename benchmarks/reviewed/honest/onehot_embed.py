"""Onehot embed."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(i, t):
    return F.one_hot(i, 40).float() @ t
"""
WORKLOAD = ("f(randint(0, 40, 64), randn(40, 24))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(i, t):
    return t[i]
"""
