"""Root-mean-square normalisation (Zhang and Sennrich 2019), as written in most transformer code."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    """Divides each row by its root mean square and scales it by a learned weight."""

    def __init__(self, size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean_square = x.pow(2).mean(dim=-1, keepdim=True)
        normalised = x * torch.rsqrt(mean_square + self.eps)
        return normalised * self.weight


# workload: RMSNorm(1024)(randn(4096, 1024))
# workload: RMSNorm(781)(randn(127, 781))
# workload: RMSNorm(64)(randn(3, 5, 64))
