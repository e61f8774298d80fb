"""An optional import in try and except, with pass."""

from cheats.texts import SOFTMAX

BASELINE = SOFTMAX
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
import torch

try:
    import a_package_that_nobody_has
except ImportError:
    pass


class Empty:
    pass


def f(x):
    e = torch.exp(x - x.amax(dim=1, keepdim=True))
    return e / e.sum(dim=1, keepdim=True)
"""
