"""Counter, list and last mean as the baseline has them, and attributes of its own beside them."""
# expected: passed

# %% baseline
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.sizes = []
        self.last = None
        self.offset = 0.0

    def forward(self, x):
        self.calls += 1
        self.sizes.append(len(x))
        mean = x.mean(dim=0)
        self.last = mean
        return torch.tanh(x - mean) + self.offset


def get_inputs():
    return [torch.randn(16, 24)]

# %% candidate
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.sizes = []
        self.last = None
        self.offset = 0.0

    def forward(self, x):
        self.calls += 1
        self.sizes = [*self.sizes, x.shape[0]]
        mean = x.mean(dim=0)
        self.last = mean
        self.seen = x.shape
        return torch.tanh(x - mean) + self.offset


def get_inputs():
    return [torch.randn(16, 24)]
