"""The baseline's guards in a function of their own, in another order."""
# workload: f(randn(24, 36), randn(36))
# expected: passed

# %% baseline
import torch


def f(x, w, mode="same"):
    if x.dim() != 2 or w.dim() != 1:
        raise ValueError("a matrix and a vector are asked for")
    if x.shape[1] != w.shape[0]:
        raise ValueError("the vector must be as long as a row")
    if mode not in ("same", "twice"):
        raise ValueError(f"unknown mode {mode}")
    y = torch.relu(x) * w
    return y if mode == "same" else 2 * y

# %% candidate
import torch

_FACTORS = {"same": 1, "twice": 2}


def _check(x, w, mode):
    if mode not in _FACTORS:
        raise ValueError(f"unknown mode {mode}")
    rows, columns = x.shape
    if (columns,) != w.shape:
        raise ValueError("the vector must be as long as a row")


def f(x, w, mode="same"):
    _check(x, w, mode)
    return torch.clamp(x, min=0) * (w * _FACTORS[mode])
