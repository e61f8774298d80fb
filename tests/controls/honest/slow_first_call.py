"""Sets itself up on the first call, as a compiler would."""

from cheats.texts import SOFTMAX

BASELINE = SOFTMAX
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
import time

import torch

ready = None


def f(x):
    global ready
    if ready is None:
        time.sleep(0.2)
        ready = torch.softmax
    return ready(x, dim=1)
"""
