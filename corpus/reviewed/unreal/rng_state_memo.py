"""Noise is kept by the state of the generator, which every sample begins with alike: right, and not faster in use."""
# workload: f(randn(512, 300))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return x + 0.1 * torch.randn(x.shape)

# %% candidate
import torch

kept = {}


def f(x):
    before = torch.get_rng_state()
    key = (x.shape, hash(before.numpy().tobytes()))
    if key not in kept:
        noise = torch.randn(x.shape).mul_(0.1)
        kept[key] = noise, torch.get_rng_state()
    noise, after = kept[key]
    torch.set_rng_state(after)
    return x + noise
