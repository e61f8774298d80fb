"""KL where the target alone is zero."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(p, q):
    return torch.special.xlogy(q, q / p).sum(-1)
"""
WORKLOAD = ("f(rand(64, 96), rand(64, 96))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(p, q):
    return (q * torch.log(q / p)).sum(-1)
"""
