"""Kernels as users write them, with honest rewrites of each and others that lose precision; plain torch, on any device.

Every function takes and returns tensors of the baseline's dtype; what it does in between is the point.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

Run = Callable[..., torch.Tensor]
_LOG2E = 1.4426950408889634


@dataclass(frozen=True)
class Family:
    """One function of some inputs. `shapes` are those of its inputs, by size; `terms` are summed per output element.

    `honest` and `reduced` rewrites for any dtype, `narrow_honest` and `narrow_reduced` for 16-bit ones too, the others for
    float32 alone.
    """

    name: str
    baseline: Run
    sizes: tuple[tuple[tuple[int, ...], ...], ...]
    terms: Callable[[tuple[tuple[int, ...], ...]], int]
    honest: Mapping[str, Run]
    reduced: Mapping[str, Run]
    narrow_honest: Mapping[str, Run] = field(default_factory=dict)
    narrow_reduced: Mapping[str, Run] = field(default_factory=dict)


def wide(function: Run) -> Run:
    """As a fused kernel does: load, compute in fp32, round once."""
    return lambda *given: function(*(x.float() for x in given)).to(given[0].dtype)


def through(dtype: torch.dtype, function: Run) -> Run:
    """The same in another dtype, from the operands to the result."""
    return lambda *given: function(*(x.to(dtype) for x in given)).to(given[0].dtype)


def operands(rounded: Callable[[torch.Tensor], torch.Tensor], function: Run) -> Run:
    """Only the operands are rounded; sums are fp32's."""
    return lambda *given: function(*(rounded(x) for x in given))


def tf32(x: torch.Tensor) -> torch.Tensor:
    """Rounded to nearest at the ten bits of mantissa that tensor cores read of a float32."""
    return ((x.contiguous().view(torch.int32) + 0x1000) & -0x2000).view(torch.float32)


def tf32_cut(x: torch.Tensor) -> torch.Tensor:
    return (x.contiguous().view(torch.int32) & -0x2000).view(torch.float32)


def bfloat16(x: torch.Tensor) -> torch.Tensor:
    return x.bfloat16().float()


def float16(x: torch.Tensor) -> torch.Tensor:
    return x.half().float()


def tf32_flag(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """What the setting does on a GPU of today; on a CPU the flag changes nothing, so the operands are rounded."""
    if not a.is_cuda:
        return tf32(a) @ tf32(b)
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return a @ b
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


# Products


def in_parts(rounded: Callable[[torch.Tensor], torch.Tensor], parts: int) -> Run:
    """Each operand as a sum of `parts` narrow ones; the products whose orders add up to less than `parts`, smallest first."""

    def split(x: torch.Tensor) -> list[torch.Tensor]:
        found: list[torch.Tensor] = []
        for _ in range(parts):
            found.append(rounded(x))
            x = x - found[-1]
        return found

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        left, right = split(a), split(b)
        orders = [(i, j) for i in range(parts) for j in range(parts) if i + j < parts]
        total = torch.zeros(a.shape[0], b.shape[1], device=a.device)
        for i, j in sorted(orders, key=sum, reverse=True):
            total = total + left[i] @ right[j]
        return total

    return product


def by_blocks_of_k(block: int, accumulator: torch.dtype = torch.float32) -> Run:
    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(a.shape[0], b.shape[1], device=a.device, dtype=accumulator)
        for left, right in zip(a.split(block, 1), b.split(block, 0), strict=True):
            total += (left.float() @ right.float()).to(accumulator)
        return total.to(a.dtype)

    return product


def split_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    parts = [(x.float() @ y.float()) for x, y in zip(a.chunk(8, 1), b.chunk(8, 0), strict=True)]
    return torch.stack(parts).sum(0).to(a.dtype)


def eight_bits(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    scale = b.abs().amax(0, keepdim=True) / 127
    return (a @ (b / scale).round()) * scale


# Pointwise


def exp2(x: torch.Tensor) -> torch.Tensor:
    return torch.exp2(x * _LOG2E)


def exp_of_degree_5(x: torch.Tensor) -> torch.Tensor:
    t = x * _LOG2E
    whole = torch.round(t)
    r = (t - whole) * math.log(2)
    p = 1 + r * (1 + r * (0.5 + r * (0.1666666 + r * (0.0416654 + r * 0.00833))))
    return torch.ldexp(p, whole.clamp(min=-126))


def exp_by_bits(x: torch.Tensor) -> torch.Tensor:
    return (x.clamp(-80, 80) * 12102203.0 + 1064866805.0).to(torch.int32).view(torch.float32)


def decayed(x: torch.Tensor) -> torch.Tensor:
    return torch.exp(-x.abs())


def gated(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.silu(x * 0.7 + y) * torch.tanh(y) + x


def gated_by_exp2(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = x * 0.7 + y
    return z / (1 + exp2(-z)) * torch.tanh(y) + x


def gated_in_bfloat16(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (bfloat16(F.silu(x * 0.7 + y)) * bfloat16(torch.tanh(y))) + x


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(q @ k.t() / math.sqrt(q.shape[1]), 1) @ v


def flash_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scale = _LOG2E / math.sqrt(q.shape[1])
    most = torch.full_like(q[:, :1], float("-inf"))
    total, out = torch.zeros_like(most), torch.zeros(q.shape[0], v.shape[1], device=q.device)
    for keys, values in zip(k.split(64), v.split(64), strict=True):
        scores = q @ keys.t() * scale
        new = torch.maximum(most, scores.amax(1, keepdim=True))
        weights, keep = torch.exp2(scores - new), torch.exp2(most - new)
        total, out = total * keep + weights.sum(1, keepdim=True), out * keep + weights @ values
        most = new
    return out / total


def attention_rounding(rounded: Callable[[torch.Tensor], torch.Tensor]) -> Run:
    """Both products on rounded operands, the softmax in fp32."""

    def found(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = rounded(q) @ rounded(k).t() / math.sqrt(q.shape[1])
        return rounded(torch.softmax(scores, 1)) @ rounded(v)

    return found
