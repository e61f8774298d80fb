"""The end of a transformer's feed-forward block: bias, GELU, dropout and the residual connection."""

import torch
from torch import nn
from torch.nn import functional as F


class BiasGeluDropoutResidual(nn.Module):
    """What follows the projection of a feed-forward block. Dropout acts in training only."""

    def __init__(self, size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(size).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        x = x + self.bias
        x = F.gelu(x)
        x = self.dropout(x)
        return x + residual


# workload: BiasGeluDropoutResidual(1024)(randn(4096, 1024), randn(4096, 1024))
# workload: BiasGeluDropoutResidual(1000)(randn(3, 77, 1000), randn(3, 77, 1000))
