"""Mean over N instead of the weights."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, y, w):
    return F.cross_entropy(x, y, w)
"""
WORKLOAD = ("f(randn(64, 100), randint(0, 100, 64), ones(100))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, y, w):
    return (F.cross_entropy(x, y, reduction='none') * w[y]).mean()
"""
