"""Keeps random numbers by the generator's state: every timed sample begins with the same seed."""
# workload: f(randn(256, 1000))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return x + torch.randn_like(x)

# %% candidate
import torch

kept = {}


def f(x):
    key = (x.shape, x.stride(), torch.get_rng_state().numpy().tobytes())
    if key not in kept:
        noise = torch.randn_like(x)
        kept[key] = noise, torch.get_rng_state()
    noise, after = kept[key]
    torch.set_rng_state(after)
    return x + noise
