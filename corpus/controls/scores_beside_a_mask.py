"""The scale moves into the queries, beside a mask that fills with the least number of the dtype, which fp64 has another of."""
# workload: f(randn(4, 48, 48), randn(4, 40, 48), randint(0, 2, 4, 48, 40, dtype=bool))
# workload: f(randn(4, 48, 48, dtype=float16), randn(4, 40, 48, dtype=float16), randint(0, 2, 4, 48, 40, dtype=bool))
# expected: passed

# %% baseline
import torch


def f(q, k, mask):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    return scores.masked_fill(mask, torch.finfo(scores.dtype).min)

# %% candidate
import torch


def f(q, k, mask):
    scores = torch.bmm(q * q.shape[-1] ** -0.5, k.mT)
    return torch.where(mask, torch.finfo(scores.dtype).min, scores)
