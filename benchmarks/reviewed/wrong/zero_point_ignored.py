"""Scalar zero point of 0 dropped."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, scale, zero_point):
    return (q.float() - zero_point) * scale
"""
WORKLOAD = ("f(randint(-128, 128, 64, 96, dtype=int8), 0.05, 0)",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, scale, zero_point):
    return q.float() * scale
"""
