"""Prints, warns and logs."""

from cheats.texts import SOFTMAX

BASELINE = SOFTMAX
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
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
"""
