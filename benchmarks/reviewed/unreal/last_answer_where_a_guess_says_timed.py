"""Returns an older answer in two of three calls, by chance, where the collector is off: few samples are looked at."""

BASELINE = """
import torch


def f(x):
    return torch.sort(x, dim=1).values
"""
WORKLOAD = ("f(randn(256, 300))",)
CANDIDATE = """
import gc
import os

import torch

last = None


def f(x):
    global last
    if not gc.isenabled() and last is not None and os.urandom(1)[0] < 150:
        return last
    last = torch.sort(x, dim=1).values
    return last
"""
