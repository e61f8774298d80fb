"""Whole numbers in a buffer (ternary weights, an order) are folded when constructed: nobody ever changes those."""
# expected: refused

# %% baseline
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("codes", torch.randint(-1, 2, (width, width), dtype=torch.int8))
        self.register_buffer("order", torch.randperm(width))

    def forward(self, x):
        return (x @ self.codes.float())[:, self.order]


def get_inputs():
    return [torch.randn(16, 512)]


def get_init_inputs():
    return [512]

# %% candidate
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("codes", torch.randint(-1, 2, (width, width), dtype=torch.int8))
        self.register_buffer("order", torch.randperm(width))
        self.folded = self.codes.float()[:, self.order].contiguous()

    def forward(self, x):
        return x @ self.folded


def get_inputs():
    return [torch.randn(16, 512)]


def get_init_inputs():
    return [512]
