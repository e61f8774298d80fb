"""Products added exactly, in four parts: where parts of both signs overflow, the sum is NaN, and the running sum an infinity."""
# workload: f(randn(40, 96), randn(40, 96), zeros(40))
# expected: passed

# %% baseline
import torch


def f(x, w, y):
    total = torch.zeros_like(y)
    for a, b in zip(x.unbind(1), w.unbind(1)):
        total = (total.double() + a.double() * b.double()).to(total.dtype)
    y.copy_(total)

# %% candidate
import torch


def f(x, w, y):
    parts = [torch.zeros_like(y) for _ in range(4)]
    for k, (a, b) in enumerate(zip(x.unbind(1), w.unbind(1))):
        parts[k % 4] = (parts[k % 4].double() + a.double() * b.double()).to(y.dtype)
    y.copy_(parts[0] + parts[1] + (parts[2] + parts[3]))
