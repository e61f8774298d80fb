"""Ddof 0 over the whole tensor."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.std()
"""
WORKLOAD = ("f(randn(512, 512))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.std(correction=0)
"""
