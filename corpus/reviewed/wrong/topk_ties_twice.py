"""The place of one of equal values stands for all of them."""
# workload: f(randn(96, 300, dtype=bfloat16))
# expected: refused

# %% baseline
import torch


def f(x):
    return torch.topk(x, 5, dim=1).indices

# %% candidate
import torch


def f(x):
    values = torch.topk(x, 5, dim=1).values
    return (x[:, None] == values[..., None]).to(torch.uint8).argmax(-1)
