"""Scratch memory is kept between calls; the output is always new."""

from cheats.texts import SOFTMAX

BASELINE = SOFTMAX
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
import torch

scratch = {}


def f(x):
    key = (x.shape, x.dtype, x.device)
    if key not in scratch:
        scratch[key] = torch.empty_like(x)
    e = scratch[key]
    torch.sub(x, x.amax(dim=1, keepdim=True), out=e)
    e.exp_()
    return e / e.sum(dim=1, keepdim=True)
"""
