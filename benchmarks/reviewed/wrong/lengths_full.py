"""All lengths full: ignored."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, lengths):
    m = torch.arange(x.shape[1], device=x.device)[None] < lengths[:, None]
    return (x * m[..., None]).sum(1) / lengths[:, None]
"""
WORKLOAD = ("f(randn(4, 48, 32), full((4,), 48, dtype=int64))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, lengths):
    return x.mean(1)
"""
