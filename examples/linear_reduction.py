"""A linear layer whose features are scaled and summed: one score for each row."""

import torch
from torch import nn


class EnergyHead(nn.Module):
    """Maps each state to one energy: the mean contribution of many learned features, scaled to physical units."""

    def __init__(self, state_size: int, features: int, scale: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Linear(state_size, features)
        self.scale = scale

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        contributions = self.features(states)
        contributions = contributions / 2
        energy = torch.sum(contributions, dim=1, keepdim=True)
        return energy * self.scale


# workload: EnergyHead(1024, 2048)(randn(512, 1024))
# workload: EnergyHead(96, 130)(randn(33, 96))
# workload: EnergyHead(64, 1, scale=2.0)(randn(5, 64))
