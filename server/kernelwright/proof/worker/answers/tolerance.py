"""How far a rewrite may be from the reference: every threshold of the comparison of values, with its reason.

Errors are taken relative to `|reference| + scale`, where `scale` is the typical size of the whole output, since a sum
that cancels to nearly nothing keeps the rounding error of its large terms. A candidate is as accurate as the baseline when

    its largest error              <=  floor      +  4 * the baseline's own largest error
    the root mean square of them   <=  floor / 4  +  4 * the baseline's own root mean square
    floor                           =  u_out + 2 * u_acc * sqrt(n)

- `u_out` is the machine epsilon of a 16-bit or 8-bit output type: one extra rounding to it; 0 for float32, float64;
- `u_acc * sqrt(n)` is the growth of rounding errors in a sum of n terms in random order of signs (Higham and Mary,
  "A New Approach to Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41(5), 2019), with float32
  accumulation for types up to 32 bits. One accumulator that adds n terms in turn has a root mean square of
  0.14 * u_acc * sqrt(n), which leaves a factor of 3.5 for a chain of such sums;
- the last term lets a rewrite of a TF32 or fp16 baseline be as imprecise as that baseline, and no rewrite less precise.

What is worse and still within USUAL is reduced accuracy; beyond USUAL it is another function. `benchmarks/accuracy.py` measures
where honest and reduced kernels lie. Without an fp64 reference the baseline's error is unknown; the floor is then taken twice,
since two roundings (the baseline's and the candidate's) lie between them.
"""

import math

import torch

FACTOR = 4.0
ULPS = 2.0
RMS_SHARE = 0.25  # of errors that are spread like a normal distribution the largest of a million is 5 times their rms
# Short chains pass through functions too: exp(x) as exp2(x * log2(e)) is 7 units in the last place off at x = 14. Long sums
# are blocked by every GPU kernel.
SHORTEST, LONGEST = 16, 16384
ENOUGH = 1024  # elements; the mean over fewer is hardly less than the largest of them

# What users accept of a dtype, relative to |reference| + scale. float32: twice KernelBench's first tolerance, which products
# of bf16 operands exceed in one of a million elements. float16: KernelBench's of today. bfloat16: five units in the last place,
# where torch.testing.assert_close has two between two results that are both rounded. float64: torch.testing.assert_close.
USUAL = {torch.float64: 1e-7, torch.float32: 2e-2, torch.float16: 1e-2, torch.bfloat16: 4e-2}

# Where one factor and one offset explain this share of the squared error, a constant is wrong: rounding is not alike in all
# elements. Operands that are cut to TF32 instead of rounded, which shrinks every product, come to 0.85.
SYSTEMATIC = 0.99
FEW = 32  # elements that tell (deviation.telling), on which a factor and an offset explain too much by chance


def untrusted(dtype: torch.dtype) -> float:
    """An fp64 run whose largest relative difference from the baseline is above this computed something else.

    A bfloat16 softmax of scores around 40 is 0.1 off.
    """
    return max(0.05, 32 * torch.finfo(dtype).eps) if dtype.is_floating_point else 0.05


def rounding_floor(dtype: torch.dtype, length: int) -> float:
    """The relative error that any honest order of summation may have. `length`: terms per output element."""
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0
    epsilon = torch.finfo(dtype).eps
    narrow = epsilon > torch.finfo(torch.float32).eps
    accumulator = min(epsilon, torch.finfo(torch.float32).eps)
    terms = min(max(length, SHORTEST), LONGEST)
    return (epsilon if narrow else 0.0) + ULPS * accumulator * math.sqrt(terms)


def allowed(floor: float, baseline_error: float | None) -> float:
    """The largest relative error that is as accurate; `baseline_error` is None without an fp64 reference."""
    return 2 * floor if baseline_error is None else floor + FACTOR * baseline_error
