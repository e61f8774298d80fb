"""KL where the target alone is zero."""
# workload: f(rand(64, 96), rand(64, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(p, q):
    return torch.special.xlogy(q, q / p).sum(-1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(p, q):
    return (q * torch.log(q / p)).sum(-1)
