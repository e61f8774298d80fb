"""Attention written out by hand: softmax(Q K^T * scale) V."""

import math

import torch
from torch import nn


class Attention(nn.Module):
    """Scaled dot-product attention over (batch, heads, length, size) without a mask."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.scale = 1.0 / math.sqrt(size)

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = torch.matmul(q, k.transpose(-2, -1))
        scores = scores * self.scale
        weights = torch.softmax(scores, dim=-1)
        return torch.matmul(weights, v)


# workload: Attention(64)(randn(2, 8, 512, 64), randn(2, 8, 512, 64), randn(2, 8, 512, 64))
# workload: Attention(32)(randn(2, 3, 127, 32), randn(2, 3, 127, 32), randn(2, 3, 127, 32))
# workload: Attention(64)(randn(1, 2, 96, 64), randn(1, 2, 200, 64), randn(1, 2, 200, 64))
