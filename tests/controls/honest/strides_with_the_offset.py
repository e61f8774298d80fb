"""Transposes by strides, from where the input begins in its storage."""

BASELINE = """
def f(x):
    return x.t().contiguous()
"""
WORKLOAD = ("f(randn(64, 80))",)
CANDIDATE = """
import torch


def f(x):
    return torch.as_strided(x, (x.shape[1], x.shape[0]), (x.stride(1), x.stride(0)), x.storage_offset()).contiguous()
"""
