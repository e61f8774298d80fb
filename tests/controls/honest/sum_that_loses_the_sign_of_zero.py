"""Adds from 0.0, so that -0.0 comes out as 0.0."""

BASELINE = """
import torch


def f(x):
    return torch.cat([x, x], dim=1)
"""
WORKLOAD = ("f(randn(64, 48))",)
CANDIDATE = """
import torch


def f(x):
    return torch.cat([x, x], dim=1) + 0.0
"""
