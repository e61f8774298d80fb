"""A buffer of constants that depend on the constructor's arguments only."""
# expected: passed

# %% baseline
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        place = torch.arange(x.shape[1], dtype=x.dtype, device=x.device)
        return self.linear(x + torch.sin(place / 10))


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
        self.register_buffer('wave', torch.sin(torch.arange(width) / 10), persistent=False)

    def forward(self, x):
        return self.linear(x + self.wave)


def get_inputs():
    return [torch.randn(32, 48)]


def get_init_inputs():
    return [48]
