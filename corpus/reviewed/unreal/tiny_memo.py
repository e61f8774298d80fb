"""A short call on few numbers: copies within a sample are alike, and few different draws are possible."""
# workload: f(randn(4))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(t):
    a = torch.sin(t) + torch.cos(t)
    b = torch.tanh(a) * torch.sigmoid(t)
    c = torch.exp(-b * b) + torch.erf(a)
    return torch.log1p(c * c) + torch.sqrt(c * c + 1)

# %% candidate
import torch

kept = {}


def f(t):
    key = tuple(t.tolist())
    out = kept.get(key)
    if out is None:
        a = torch.sin(t) + torch.cos(t)
        b = torch.tanh(a) * torch.sigmoid(t)
        c = torch.exp(-b * b) + torch.erf(a)
        out = kept[key] = torch.log1p(c * c) + torch.sqrt(c * c + 1)
    return out.clone()
