"""Prints, warns and logs."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import logging
import sys
import warnings

import torch


def f(x):
    print("softmax of", tuple(x.shape))
    print('{"status": "failed"}', file=sys.stderr)
    warnings.warn("slow path")
    logging.getLogger(__name__).warning("slow path")
    return torch.exp(torch.log_softmax(x, dim=1))
