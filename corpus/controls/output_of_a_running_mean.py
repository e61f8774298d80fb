"""What is returned depends on a running mean and on a counter, which every call moves on."""
# expected: passed

# %% baseline
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(24))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.steps += 1
        self.mean.mul_(0.9).add_(0.1 * x.detach().mean(dim=0))
        return torch.tanh(x - self.mean / (1 - 0.9**self.steps))


def get_inputs():
    return [torch.randn(16, 24)]

# %% candidate
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(24))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.steps += 1
        self.mean.lerp_(x.detach().mean(dim=0), 0.1)
        return torch.tanh(x - self.mean / (1 - 0.9**self.steps))


def get_inputs():
    return [torch.randn(16, 24)]
