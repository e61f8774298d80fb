"""Takes matrices only, which the verdict tells."""
# workload: f(randn(64, 48))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.linalg.vector_norm(x, dim=-1)

# %% candidate
import torch


def f(x):
    if x.dim() != 2:
        raise ValueError("f takes a matrix")
    return torch.linalg.vector_norm(x, dim=1)
