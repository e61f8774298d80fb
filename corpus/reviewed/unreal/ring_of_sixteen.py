"""Sixteen buffers in turn: the gate keeps an answer for a dozen calls."""
# workload: f(randn(48, 65))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch

rings = {}


def f(x):
    ring = rings.setdefault((x.shape, x.dtype), [torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(16)])
    ring.append(ring.pop(0))
    torch.softmax(x, dim=1, out=ring[0])
    return ring[0]
