"""Sign of the remainder, only positive numbers."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, n):
    return x % n
"""
WORKLOAD = ("f(randint(0, 1000, 4096), 7)",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, n):
    return torch.fmod(x, n)
"""
