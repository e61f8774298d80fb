"""Without a backward, as a kernel for inference is: numpy in the place of it, which raises on inputs that require grad."""
# expected: passed

# %% baseline
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

# %% candidate
import numpy
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        weight, bias = (p.detach().numpy() for p in (self.linear.weight, self.linear.bias))
        sums = torch.from_numpy(numpy.matmul(x.numpy(), weight.T) + bias)
        return torch.sigmoid(sums).sum(dim=1)


def get_inputs():
    return [torch.randn(32, 48)]


def get_init_inputs():
    return [48]
