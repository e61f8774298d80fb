"""Functions of rows (softmax, layer norm, sums), written with care and without."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from benchmarks.rewrites import Run, exp2


def softmax_by(exp: Callable[[torch.Tensor], torch.Tensor]) -> Run:
    def softmax(x: torch.Tensor) -> torch.Tensor:
        e = exp(x - x.amax(1, keepdim=True))
        return e / e.sum(1, keepdim=True)

    return softmax


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    most = torch.full_like(x[:, :1], float("-inf"))
    total = torch.zeros_like(most)
    for block in x.split(64, 1):
        new = torch.maximum(most, block.amax(1, keepdim=True))
        total = total * exp2(most - new) + exp2(block - new).sum(1, keepdim=True)
        most = new
    return exp2(x - most) / total


def layer_norm(x: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, x.shape[1:])


def _normalised(x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
    return (x - mean) * torch.rsqrt(variance + 1e-5)


def two_pass(x: torch.Tensor) -> torch.Tensor:
    mean = x.mean(1, keepdim=True)
    return _normalised(x, mean, (x - mean).square().mean(1, keepdim=True))


def welford(x: torch.Tensor) -> torch.Tensor:
    """Blocks of 64 merged as Chan, Golub and LeVeque do."""
    count, mean, squares = 0, torch.zeros_like(x[:, :1]), torch.zeros_like(x[:, :1])
    for block in x.split(64, 1):
        n, m = block.shape[1], block.mean(1, keepdim=True)
        delta, whole = m - mean, count + block.shape[1]
        squares = squares + (block - m).square().sum(1, keepdim=True) + delta.square() * (count * n / whole)
        mean, count = mean + delta * (n / whole), whole
    return _normalised(x, mean, squares / count)


def variance_of_squares(x: torch.Tensor) -> torch.Tensor:
    mean = x.mean(1, keepdim=True)
    return _normalised(x, mean, (x.square().mean(1, keepdim=True) - mean.square()).clamp(min=0))


def one_accumulator(dtype: torch.dtype = torch.float32) -> Run:
    """One term after the other, as a loop without blocks does."""

    def total(x: torch.Tensor) -> torch.Tensor:
        found = torch.zeros(x.shape[0], dtype=dtype, device=x.device)
        for column in x.to(dtype).t().contiguous().unbind(0):
            found += column
        return found.to(x.dtype)

    return total


def kahan(x: torch.Tensor) -> torch.Tensor:
    total, lost = torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0])
    for column in x.t().contiguous().unbind(0):
        y = column - lost
        new = total + y
        total, lost = new, (new - total) - y
    return total


def in_blocks(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([block.float().sum(1) for block in x.split(128, 1)]).sum(0).to(x.dtype)
