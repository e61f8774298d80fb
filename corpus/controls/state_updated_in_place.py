"""A running mean, a cache and a counter, updated by other operators."""
# expected: passed

# %% baseline
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

# %% candidate
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
        self.mean.copy_(torch.where(first, mean, (mean * 0.1).add(self.mean, alpha=0.9)))
        self.past[self.steps % 8] = mean
        self.steps += 1
        return torch.tanh(x - mean)


def get_inputs():
    return [torch.randn(16, 24)]
