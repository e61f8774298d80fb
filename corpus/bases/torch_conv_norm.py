"""A convolution with batch normalisation by stored statistics, ReLU and the residual, as it runs after training."""

import torch
from torch import nn
from torch.nn import functional as F


class ConvNorm(nn.Module):
    """Three by three, as many channels out as in."""

    def __init__(self, channels: int, eps: float = 1e-3) -> None:
        super().__init__()
        self.eps = eps
        self.kernel = nn.Parameter(torch.randn(channels, channels, 3, 3) * 0.1)
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("mean", torch.randn(channels) * 0.1)
        self.register_buffer("variance", torch.rand(channels) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.conv2d(x, self.kernel, padding=1)
        y = y - self.mean.view(1, -1, 1, 1)
        y = y / torch.sqrt(self.variance.view(1, -1, 1, 1) + self.eps)
        y = y * self.weight.view(1, -1, 1, 1) + self.bias.view(1, -1, 1, 1)
        return torch.relu(y) + x


# workload: ConvNorm(32)(randn(8, 32, 32, 32))
# workload: ConvNorm(5)(randn(2, 5, 9, 14))
