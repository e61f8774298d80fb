"""The conjugate is taken by whoever reads the answer."""
# workload: f(randn(512, 320, dtype=complex64))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return torch.conj_physical(x * 2)

# %% candidate
import torch


def f(x):
    return torch.conj(x * 2)
