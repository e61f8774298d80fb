"""Integers in and out."""

BASELINE = """
import torch


def f(x):
    return x.cumsum(dim=1) % 7
"""
WORKLOAD = ("f(randint(-50, 50, 48, 65))",)
CANDIDATE = """
import torch


def f(x):
    return torch.remainder((x % 7).cumsum(dim=1), 7)
"""
