"""Sums in float64 where the original sums in float32."""

BASELINE = """
import torch


def f(x):
    return x.square().mean(dim=1).sqrt()
"""
WORKLOAD = ("f(randn(48, 300))",)
CANDIDATE = """
import torch


def f(x):
    return x.double().square().mean(dim=1).sqrt().float()
"""
