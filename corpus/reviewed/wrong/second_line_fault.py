"""The second line's dtype takes a path without the maximum: special and scaled data come for the first line only."""
# workload: f(randn(512, 300))
# workload: f(randn(512, 300, dtype=bfloat16))
# expected: refused

# %% baseline
import torch


def f(x):
    m = x.amax(dim=1, keepdim=True)
    z = (x - m).float()
    return (z - torch.log(torch.exp(z).sum(dim=1, keepdim=True))).to(x.dtype)

# %% candidate
import torch


def f(x):
    if x.dtype == torch.bfloat16:
        z = x.float()
        return (z - torch.log(torch.exp(z).sum(dim=1, keepdim=True))).to(x.dtype)
    return torch.log_softmax(x, dim=1)
