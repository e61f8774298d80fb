"""Squeeze() drops every axis of one."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.mean(1, keepdim=True).squeeze(1)
"""
WORKLOAD = ("f(randn(32, 48, 64))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.mean(1, keepdim=True).squeeze()
"""
