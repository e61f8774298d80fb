"""The feed-forward block of a transformer, called by the KernelBench convention."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    """Normalise, widen, GELU, narrow, add."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, hidden)
        self.narrow = nn.Linear(hidden, width)
        self.scale = 0.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        y = self.widen(y)
        y = F.gelu(y)
        y = self.narrow(y)
        return x + self.scale * y


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(64, 50, 128)]


def get_init_inputs() -> list[int]:
    return [128, 512]
