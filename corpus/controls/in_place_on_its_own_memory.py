"""In-place operators on memory that the call has allocated itself."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch


def f(x):
    y = x - x.amax(dim=1, keepdim=True)
    y.exp_()
    return y.div_(y.sum(dim=1, keepdim=True))
