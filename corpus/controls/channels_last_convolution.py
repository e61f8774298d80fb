"""A convolution in channels-last memory, whose output is given back contiguous."""
# workload: f(randn(2, 16, 20, 20), randn(24, 16, 3, 3))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x, w):
    return F.conv2d(x, w, padding=1)

# %% candidate
import torch
import torch.nn.functional as F


def f(x, w):
    last = torch.channels_last
    return F.conv2d(x.contiguous(memory_format=last), w.contiguous(memory_format=last), padding=1).contiguous()
