"""Only integers come in: the last result is kept by exact content. Integers are never varied in the timed calls."""
# workload: f(randint(0, 1000, 20000))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(t):
    order = torch.argsort(t, stable=True)
    return order, torch.bincount(t, minlength=1000)

# %% candidate
import torch

last = None


def f(t):
    global last
    if last is None or last[0].shape != t.shape or not torch.equal(last[0], t):
        last = t.clone(), torch.argsort(t, stable=True), torch.bincount(t, minlength=1000)
    return last[1].clone(), last[2].clone()
