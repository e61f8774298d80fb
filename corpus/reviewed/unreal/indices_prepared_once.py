"""What is derived from the integer inputs alone is kept, by equality: the timed samples never change them."""
# workload: f(randn(4096, 4), randint(0, 64, (4096,)))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x, index):
    order = torch.argsort(index, stable=True)
    return x[order]

# %% candidate
import torch

last = order = None


def f(x, index):
    global last, order
    if last is None or not torch.equal(index, last):
        last, order = index.clone(), torch.argsort(index, stable=True)
    return x[order]
