"""A segmented sum by index_add, which uses atomics on a GPU."""
# workload: f(randn(300, 24), randint(0, 20, 300))
# expected: passed

# %% baseline
import torch


def f(x, at):
    return torch.nn.functional.one_hot(at, 20).to(x.dtype).t() @ x

# %% candidate
import torch


def f(x, at):
    return torch.zeros(20, x.shape[1], dtype=x.dtype, device=x.device).index_add_(0, at, x)
