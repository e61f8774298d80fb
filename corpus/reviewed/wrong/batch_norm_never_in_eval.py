"""Self.training is never asked: eval() normalises by the batch and changes the statistics."""
# workload: M(32)(randn(8, 32, 14, 14))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


class M(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.bn = nn.BatchNorm2d(c)

    def forward(self, x):
        return torch.relu(self.bn(x))

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


class M(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.bn = nn.BatchNorm2d(c)

    def forward(self, x):
        b = self.bn
        b.num_batches_tracked += 1
        return torch.relu(F.batch_norm(x, b.running_mean, b.running_var, b.weight, b.bias, True, b.momentum, b.eps))
