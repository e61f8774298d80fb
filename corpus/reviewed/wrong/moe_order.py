"""Expert of a token is its own number."""
# workload: f(randn(24, 32), arange(24), randn(24, 32, 16))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, ids, w):
    return torch.einsum('nd,ndk->nk', x, w[ids])

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, ids, w):
    return torch.einsum('nd,ndk->nk', x, w[: ids.shape[0]])
