"""Complex numbers."""

BASELINE = """
import torch


def f(x):
    return torch.fft.rfft(x)
"""
WORKLOAD = ("f(randn(48, 64))",)
CANDIDATE = """
import torch


def f(x):
    return torch.fft.fft(x)[:, : x.shape[1] // 2 + 1].contiguous()
"""
