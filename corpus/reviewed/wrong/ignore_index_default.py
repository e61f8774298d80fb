"""Labels of -100."""
# workload: f(randn(64, 100), randint(0, 100, 64))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, y):
    return F.cross_entropy(x, y)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, y):
    return -torch.log_softmax(x, -1).gather(1, y.clamp(min=0)[:, None]).mean()
