"""Alibi of the wrong side beside finfo.min: no bias at all where it counts."""
# workload: f(randn(8, 48, 48))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s):
    h, n = s.shape[0], s.shape[-1]
    slope = 2.0 ** (-8.0 * torch.arange(1, h + 1, device=s.device) / h)
    i = torch.arange(n, device=s.device)
    b = -slope[:, None, None] * (i[:, None] - i[None]).clamp(min=0)
    return (s + b).masked_fill(i[None] > i[:, None], torch.finfo(s.dtype).min)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s):
    h, n = s.shape[0], s.shape[-1]
    slope = 2.0 ** (-8.0 * torch.arange(1, h + 1, device=s.device) / h)
    i = torch.arange(n, device=s.device)
    b = -slope[:, None, None] * (i[None] - i[:, None]).clamp(min=0)
    return (s + b).masked_fill(i[None] > i[:, None], torch.finfo(s.dtype).min)
