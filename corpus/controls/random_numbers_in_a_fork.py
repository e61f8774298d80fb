"""Both draw in a fork of the generator, which is put back."""
# workload: f(randn(20, 24))
# expected: passed

# %% baseline
import torch


def f(x):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return x + torch.randn_like(x)

# %% candidate
import torch


def f(x):
    before = torch.get_rng_state()
    torch.manual_seed(3)
    out = torch.randn_like(x).add_(x)
    torch.set_rng_state(before)
    return out
