"""Small files that a person would have, with their workloads."""

SOFTMAX = """\
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_columns
    x = tl.load(x_ptr + row * n_columns + columns, mask=mask, other=-float("inf"))
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n_columns + columns, x / tl.sum(x, axis=0), mask=mask)


def softmax(x):
    y = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


# workload: softmax(randn(16, 100))
"""

LINEAR_SUM = '''\
import torch
from torch import nn


class Model(nn.Module):
    """A linear layer whose outputs are only ever summed."""

    def __init__(self, features: int, hidden: int):
        super().__init__()
        self.linear = nn.Linear(features, hidden)

    def forward(self, x):
        y = self.linear(x)
        return torch.sum(y, dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(384, 512)]


def get_init_inputs():
    return [512, 640]
'''

PLAIN = """\
import torch


def scaled(x):
    y = x * 2.0
    return y.clamp(min=0.0)


# workload: scaled(randn(64, 64))
"""

SLOW = """\
import pathlib
import time

import torch


def slow(x):
    pathlib.Path("started").touch()
    time.sleep(60)
    return torch.relu(x) * 2.0


# workload: slow(randn(8))
"""

LARGE = '''\
import torch
from torch import nn


class Block(nn.Module):
    """A convolution that is normalised and added to what came in."""

    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.act = nn.ReLU()

    def forward(self, x):
        y = self.norm(self.conv(x))
        y = y + x
        return self.act(y)


class Model(nn.Module):
    """Sixty blocks after one another."""

    def __init__(self, channels: int, depth: int):
        super().__init__()
        self.blocks = nn.Sequential(*(Block(channels) for _ in range(depth)))

    def forward(self, x):
        return self.blocks(x)


def get_inputs():
    return [torch.randn(2, 16, 8, 8)]


def get_init_inputs():
    return [16, 60]
'''
