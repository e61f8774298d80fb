"""The same gradients by other operators, with an output that is detached in both."""
# workload: f(randn(24, 36), randn(24, 36))
# expected: passed

# %% baseline
import torch


def f(x, gate):
    y = torch.tanh(x) * torch.sigmoid(gate)
    return y, y.detach().mean()

# %% candidate
import torch


def f(x, gate):
    y = x.tanh() / (1 + torch.exp(-gate))
    with torch.no_grad():
        mean = y.sum() / y.numel()
    return y, mean
