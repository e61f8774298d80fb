"""Both draw in a fork of the generator, which is put back."""

BASELINE = """
import torch


def f(x):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return x + torch.randn_like(x)
"""
WORKLOAD = ("f(randn(20, 24))",)
CANDIDATE = """
import torch


def f(x):
    before = torch.get_rng_state()
    torch.manual_seed(3)
    out = torch.randn_like(x).add_(x)
    torch.set_rng_state(before)
    return out
"""
