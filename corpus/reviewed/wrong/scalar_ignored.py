"""Numbers of the workload line are written into the text."""
# workload: f(randn(512, 300), 1.0, 2.5)
# workload: f(randn(64, 300), 1.0, 2.5)
# expected: refused

# %% baseline
import torch


def f(x, beta, power):
    return torch.pow(torch.nn.functional.softplus(x, beta=beta) + 1, power)

# %% candidate
import torch


def f(x, beta, power):
    y = torch.nn.functional.softplus(x).add_(1)
    return torch.sqrt(y).mul_(y).mul_(y)
