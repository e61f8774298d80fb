"""plain attention by scaled_dot_product_attention, four dimensions."""
# workload: f(randn(2, 2, 96, 64), randn(2, 2, 96, 64), randn(2, 2, 96, 64))
# expected: passed

# %% baseline
import torch


def f(q, k, v):
    s = (q @ k.transpose(-1, -2)) / q.shape[-1] ** 0.5
    return torch.softmax(s, dim=-1) @ v

# %% candidate
import torch


def f(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)
