"""Policy loss."""
# workload: f(randn(64, 10), randint(0, 10, 64), randn(64))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, a, adv):
    return -(torch.log_softmax(x, 1).gather(1, a[:, None]).squeeze(1) * adv).mean()

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, a, adv):
    return -((x.gather(1, a[:, None]).squeeze(1) - torch.logsumexp(x, 1)) * adv).mean()
