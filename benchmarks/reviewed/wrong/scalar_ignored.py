"""Numbers of the workload line are written into the text."""

BASELINE = """
import torch


def f(x, beta, power):
    return torch.pow(torch.nn.functional.softplus(x, beta=beta) + 1, power)
"""
WORKLOAD = (
    "f(randn(512, 300), 1.0, 2.5)",
    "f(randn(64, 300), 1.0, 2.5)",
)
CANDIDATE = """
import torch


def f(x, beta, power):
    y = torch.nn.functional.softplus(x).add_(1)
    return torch.sqrt(y).mul_(y).mul_(y)
"""
