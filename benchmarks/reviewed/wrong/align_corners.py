"""Corners."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.interpolate(x, scale_factor=2, mode='bilinear')
"""
WORKLOAD = ("f(randn(2, 3, 16, 16))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=True)
"""
