"""torch.compile notes at its output which sizes vary; no code is generated, so that this needs no compiler."""
# workload: f(randn(96, 300), randn(96, 300))
# expected: passed

# %% baseline
import torch


def f(x, y):
    return torch.softmax(x * y + x, dim=1)

# %% candidate
import torch


@torch.compile(backend="aot_eager", dynamic=True)
def f(x, y):
    return torch.softmax(x * (y + 1), dim=1)
