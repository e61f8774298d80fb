"""Two outputs of equal content are one tensor."""
# workload: f(randn(512, 300))
# expected: refused

# %% baseline
import torch


def f(x):
    y = torch.relu(x)
    return y, y.clone()

# %% candidate
import torch


def f(x):
    y = torch.relu(x)
    return y, y
