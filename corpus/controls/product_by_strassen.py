"""Strassen's product: seven products of quarters, whose sums spread a NaN."""
# workload: f(randn(64, 48), randn(48, 32))
# expected: passed

# %% baseline
import torch


def f(x, y):
    return x @ y

# %% candidate
import torch


def f(x, y):
    m, k, n = x.shape[0], x.shape[1], y.shape[1]
    x = torch.nn.functional.pad(x, (0, k % 2, 0, m % 2)).double()
    y = torch.nn.functional.pad(y, (0, n % 2, 0, k % 2)).double()
    (a, b), (c, d) = (row.chunk(2, dim=1) for row in x.chunk(2))
    (e, f), (g, h) = (row.chunk(2, dim=1) for row in y.chunk(2))
    p1, p2, p3, p4 = a @ (f - h), (a + b) @ h, (c + d) @ e, d @ (g - e)
    p5, p6, p7 = (a + d) @ (e + h), (b - d) @ (g + h), (a - c) @ (e + f)
    top = torch.cat([p5 + p4 - p2 + p6, p1 + p2], dim=1)
    low = torch.cat([p3 + p4, p1 + p5 - p3 - p7], dim=1)
    return torch.cat([top, low])[:m, :n].float()
