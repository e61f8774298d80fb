"""A transposed copy of the weight, made anew when the weight has changed, where no gradient is wanted."""
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
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.packed, self.made_of = None, None
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return torch.sigmoid(x @ self.repacked() + self.linear.bias).sum(dim=1)


def get_inputs():
    return [torch.randn(32, 48)]


def get_init_inputs():
    return [48]


def repacked(self):
    weight = self.linear.weight
    if torch.is_grad_enabled():
        return weight.t()
    made_of = (weight.data_ptr(), weight._version)
    if self.made_of != made_of:
        self.packed, self.made_of = weight.t().contiguous(), made_of
    return self.packed


Model.repacked = repacked
