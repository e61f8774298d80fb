"""A layer norm with the backward that is derived on paper."""
# expected: passed

# %% baseline
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(self.linear(x)) * 2


def get_inputs():
    return [torch.randn(32, 48)]


def get_init_inputs():
    return [48]

# %% candidate
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return Norm.apply(self.linear(x), self.norm.weight, self.norm.bias) * 2


def get_inputs():
    return [torch.randn(32, 48)]


def get_init_inputs():
    return [48]


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        v, m = torch.var_mean(x, dim=1, correction=0, keepdim=True)
        scale = torch.rsqrt(v + 1e-5)
        ctx.save_for_backward(x, m, scale, weight)
        return (x - m) * scale * weight + bias

    @staticmethod
    def backward(ctx, gradient):
        x, m, scale, weight = ctx.saved_tensors
        normal, inner = (x - m) * scale, gradient * weight
        shared = inner.mean(1, keepdim=True) + normal * (inner * normal).mean(1, keepdim=True)
        return (inner - shared) * scale, (gradient * normal).sum(0), gradient.sum(0)
