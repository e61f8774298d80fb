"""Both silence warnings, set a variable, and change how numbers are printed."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import os
import warnings

import torch

warnings.filterwarnings("ignore")
os.environ["MY_KERNELS"] = "1"


def f(x):
    torch.set_printoptions(precision=6)
    return torch.softmax(x, dim=1)

# %% candidate
import os
import warnings

import torch

warnings.filterwarnings("ignore")
os.environ["MY_KERNELS"] = "1"


def f(x):
    torch.set_printoptions(precision=6)
    return torch.exp(torch.log_softmax(x, dim=1))
