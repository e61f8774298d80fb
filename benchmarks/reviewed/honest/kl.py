"""Kl."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction='batchmean')
"""
WORKLOAD = ("f(randn(64, 100), randn(64, 100))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return (F.softmax(y, 1) * (F.log_softmax(y, 1) - F.log_softmax(x, 1))).sum() / x.shape[0]
"""
