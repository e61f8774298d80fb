"""Edges of bins, which the operator needs in order: counted instead of searched."""

BASELINE = """
import torch


def f(edges, x):
    return torch.bucketize(x, edges)
"""
WORKLOAD = ("f(arange(48, dtype=float32), rand(96))",)
CANDIDATE = """
import torch


def f(edges, x):
    return (edges < x[..., None]).sum(-1)
"""
