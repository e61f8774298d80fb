"""Argmax half."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.argmax(1)
"""
WORKLOAD = ("f(randn(96, 300, dtype=float16))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.float().max(1).indices
"""
