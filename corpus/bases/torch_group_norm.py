"""Group normalisation of images, spelled out, with a learned weight and bias per channel."""

import torch
from torch import nn


class GroupNorm(nn.Module):
    """Mean and variance over each group of channels and all pixels."""

    def __init__(self, groups: int, channels: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.groups = groups
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, c, h, w = x.shape
        grouped = x.reshape(n, self.groups, -1)
        mean = grouped.mean(dim=2, keepdim=True)
        variance = grouped.var(dim=2, keepdim=True, correction=0)
        normalised = (grouped - mean) / torch.sqrt(variance + self.eps)
        return normalised.reshape(n, c, h, w) * self.weight[None, :, None, None] + self.bias[None, :, None, None]


# workload: GroupNorm(8, 32)(randn(8, 32, 28, 28))
# workload: GroupNorm(4, 12)(randn(2, 12, 5, 7))
