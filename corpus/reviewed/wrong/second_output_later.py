"""The second output is made by a thread while whoever asked still reads the first, large one."""
# workload: f(randn(2048, 640))
# expected: refused

# %% baseline
import torch


def f(x):
    return x + 1, torch.linalg.matrix_exp(x[:96, :96] / 10)

# %% candidate
import threading

import torch


def f(x):
    if x.numel() < 1_000_000:
        return x + 1, torch.linalg.matrix_exp(x[:96, :96] / 10)
    part = x[:96, :96] / 10
    out = torch.empty_like(part)
    threading.Thread(target=lambda: out.copy_(torch.linalg.matrix_exp(part))).start()
    return x + 1, out
