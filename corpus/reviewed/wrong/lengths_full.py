"""All lengths full: ignored."""
# workload: f(randn(4, 48, 32), full((4,), 48, dtype=int64))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, lengths):
    m = torch.arange(x.shape[1], device=x.device)[None] < lengths[:, None]
    return (x * m[..., None]).sum(1) / lengths[:, None]

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, lengths):
    return x.mean(1)
