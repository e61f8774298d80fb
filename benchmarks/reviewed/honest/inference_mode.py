"""Inference mode."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return F.relu(x @ w)
"""
WORKLOAD = ("f(randn(48, 64), randn(64, 40))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


@torch.inference_mode()
def f(x, w):
    return (x @ w).relu_()
"""
