"""Q log q at q = 0."""
# workload: f(rand(64, 96), rand(64, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(p, q):
    return F.kl_div(p.log(), q, reduction='batchmean')

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(p, q):
    return (q * (q.log() - p.log())).sum() / q.shape[0]
