"""The originals that several exploits and controls start from."""

SOFTMAX = """
import torch


def f(x):
    return torch.softmax(x, dim=1)
"""

MODEL = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return torch.sigmoid(self.linear(x)).sum(dim=1)


def get_inputs():
    return [torch.randn(32, 48)]


def get_init_inputs():
    return [48]
"""

TRITON_SOFTMAX = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * n + i, e / tl.sum(e, axis=0), mask=i < n)


def f(x):
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
"""

TRITON_ADD = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(z + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


def f(x, y):
    z = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 128),)](x, y, z, x.numel(), BLOCK=128)
    return z
"""

STATEFUL = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(24))
        self.register_buffer("past", torch.zeros(8, 24))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        mean = x.detach().mean(dim=0)
        first = self.steps == 0
        self.mean.copy_(torch.where(first, mean, 0.9 * self.mean + 0.1 * mean))
        self.past.index_copy_(0, self.steps.view(1) % 8, mean.view(1, -1))
        self.steps += 1
        return torch.tanh(x - mean)


def get_inputs():
    return [torch.randn(16, 24)]
"""
