"""Scalars and keywords in the workload."""

BASELINE = """
import torch


def f(x, alpha, bias=0.0):
    return torch.clamp(x * alpha + bias, -2, 2)
"""
WORKLOAD = ("f(randn(48, 65), alpha=1.5, bias=0.25)",)
CANDIDATE = """
import torch


def f(x, alpha, bias=0.0):
    return torch.add(bias, x, alpha=alpha).clamp_(-2, 2)
"""
