import torch
from torch import nn


class Energy(nn.Module):
    def __init__(self, features: int, hidden: int):
        super().__init__()
        self.linear = nn.Linear(features, hidden)

    def forward(self, x):
        y = self.linear(x)
        return torch.sum(y, dim=1, keepdim=True)


# workload: Energy(256, 512)(randn(64, 256))
