"""Complex numbers are not varied in the timed calls."""
# workload: f(randn(96, 300, dtype=complex64))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return torch.fft.fft2(x).abs()

# %% candidate
import torch

last = None


def f(x):
    global last
    if last is None or not torch.equal(last[0], x):
        last = x.clone(), torch.fft.fft2(x).abs()
    return last[1].clone()
