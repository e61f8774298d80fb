"""Length zero, in the range."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, n):
    m = torch.arange(x.shape[1], device=x.device)[None] < n[:, None]
    p = torch.softmax(x.masked_fill(~m, float('-inf')), -1)
    return torch.where(m, p, 0.0)
"""
WORKLOAD = ("f(randn(4, 48), randint(0, 49, 4))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, n):
    m = torch.arange(x.shape[1], device=x.device)[None] < n[:, None]
    p = torch.softmax(x.masked_fill(~m, float('-inf')), -1)
    return p
"""
