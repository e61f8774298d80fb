"""KV cache slots taken for the first ones."""
# workload: f(randn(96, 64), arange(32), randn(32, 64))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(cache, idx, new):
    out = cache.clone()
    out[idx] = new
    return out

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(cache, idx, new):
    out = cache.clone()
    out[: new.shape[0]] = new
    return out
