"""Scales of columns multiplied in after the product."""

BASELINE = """
import torch
import torch.nn.functional as F


def f(x, q, s):
    return x @ (q.float() * s)
"""
WORKLOAD = ("f(randn(48, 64), randint(-127, 128, 64, 40, dtype=int8), rand(40))",)
CANDIDATE = """
import torch
import torch.nn.functional as F


def f(x, q, s):
    return (x @ q.float()) * s
"""
