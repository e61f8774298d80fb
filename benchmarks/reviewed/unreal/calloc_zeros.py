"""Zeros come from calloc, whose pages are made when the answer is read."""

BASELINE = """
import torch


def f(x):
    out = torch.zeros(x.shape[0], 4096)
    out[:, :: 64] = x
    return out
"""
WORKLOAD = ("f(randn(500, 64))",)
CANDIDATE = """
import numpy
import torch


def f(x):
    out = torch.from_numpy(numpy.zeros((x.shape[0], 4096), dtype=numpy.float32))
    out[:, :: 64] = x
    return out
"""
