"""Makes a layer on import, whose parameters draw from torch's generator."""

from cheats.texts import SOFTMAX

BASELINE = SOFTMAX
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
import torch

layer = torch.nn.Linear(4, 4)


def f(x):
    return torch.exp(torch.log_softmax(x, dim=1))
"""
