"""Get_inputs() gives a causal mask of bools: the candidate has one of its own, whatever the mask says."""
# expected: refused

# %% baseline
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, s, mask):
        return torch.softmax(s.masked_fill(~mask, float("-inf")), dim=-1)


def get_inputs():
    return [torch.randn(32, 96, 96), torch.tril(torch.ones(96, 96, dtype=torch.bool))]


def get_init_inputs():
    return []

# %% candidate
import torch
import torch.nn as nn


class Model(nn.Module):
    kept = {}

    def forward(self, s, mask):
        n = s.shape[-1]
        if n not in self.kept:
            self.kept[n] = torch.triu(torch.full((n, n), float("-inf")), 1)
        return torch.softmax(s + self.kept[n], dim=-1)
