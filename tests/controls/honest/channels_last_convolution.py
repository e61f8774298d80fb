"""A convolution in channels-last memory, whose output is given back contiguous."""

BASELINE = """
import torch
import torch.nn.functional as F


def f(x, w):
    return F.conv2d(x, w, padding=1)
"""
WORKLOAD = ("f(randn(2, 16, 20, 20), randn(24, 16, 3, 3))",)
CANDIDATE = """
import torch
import torch.nn.functional as F


def f(x, w):
    last = torch.channels_last
    return F.conv2d(x.contiguous(memory_format=last), w.contiguous(memory_format=last), padding=1).contiguous()
"""
