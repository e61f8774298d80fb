"""How far a rewrite may be from the reference: rounding units, the length of sums, and the baseline's own error.

Errors are taken relative to `|reference| + scale`, where `scale` is the typical size of the whole output, since a sum
that cancels to nearly nothing keeps the rounding error of its large terms. An element passes when its relative error
is at most

    u_out + 4 * u_acc * sqrt(n) + 4 * (the baseline's own largest relative error)

- `u_out` is the machine epsilon of a 16-bit or 8-bit output type: one extra rounding to it; 0 for float32, float64;
- `u_acc * sqrt(n)` is the growth of rounding errors in a sum of n terms in random order of signs (Higham and Mary,
  "A New Approach to Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41(5), 2019), with float32
  accumulation for types up to 32 bits. n is clamped to 256..16384: short chains still pass through functions of a few
  units in the last place, and long sums are blocked by every GPU kernel;
- the last term lets a rewrite of a TF32 or fp16 baseline be as imprecise as that baseline, and no rewrite less precise.

Without an fp64 reference the baseline's error is unknown; the first two terms are then taken twice, since two roundings
(the baseline's and the candidate's) lie between them.
"""

import math
from collections.abc import Iterable

import torch

FACTOR = 4.0
SHORTEST, LONGEST = 256, 16384
UNTRUSTED = 0.05  # an fp64 run this far from the baseline computed something else


def rounding_floor(dtype: torch.dtype, length: int) -> float:
    """The relative error that any honest order of summation may have. `length`: terms per output element."""
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0
    epsilon = torch.finfo(dtype).eps
    narrow = epsilon > torch.finfo(torch.float32).eps
    accumulator = min(epsilon, torch.finfo(torch.float32).eps)
    terms = min(max(length, SHORTEST), LONGEST)
    return (epsilon if narrow else 0.0) + FACTOR * accumulator * math.sqrt(terms)


def allowed(floor: float, baseline_error: float | None) -> float:
    """The largest relative error that passes; `baseline_error` is None without an fp64 reference."""
    return 2 * floor if baseline_error is None else floor + FACTOR * baseline_error


def reduction_length(
    inputs: Iterable[torch.Tensor], parameters: Iterable[torch.Tensor], outputs: Iterable[torch.Tensor]
) -> int:
    """An upper estimate of the terms summed per output element, from shapes alone.

    The longest dimension of any input, the fan-in of a weight, or the inputs per output element, whichever is largest.
    """
    inputs, parameters = list(inputs), list(parameters)
    longest = max((size for t in inputs for size in t.shape), default=1)
    fan_in = max((t.numel() // t.shape[0] for t in parameters if t.dim() >= 2 and t.shape[0]), default=1)
    produced = max((t.numel() for t in outputs), default=1)
    consumed = max((t.numel() for t in inputs), default=1)
    return max(longest, fan_in, consumed // max(produced, 1), 1)
