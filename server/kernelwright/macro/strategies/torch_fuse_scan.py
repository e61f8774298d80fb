"""Makes one Triton kernel of a scan (cumsum, cumprod) and the operations around it."""

from kernelwright.macro.nests import fusion
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.nested import scan_regions

_BEFORE = '''import torch
import torch.nn as nn


class Model(nn.Module):
    """The sum of all later elements that a mask keeps."""

    def forward(self, x, mask):
        kept = x * mask
        return torch.cumsum(kept.flip(1), dim=1).flip(1)


def get_inputs():
    return [torch.randn(64, 1000), torch.rand(64, 1000) > 0.5]


def get_init_inputs():
    return []
'''

_AFTER = '''import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mul_cumsum_kernel(x_ptr, mask_2_ptr, out_ptr, length, BLOCK: tl.constexpr):
    """Multiply and running sum, one row a program."""
    row = tl.program_id(0)
    columns = length - 1 - tl.arange(0, BLOCK)
    mask = columns >= 0
    offsets = row * length + columns
    x = tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.float32)
    mask_2 = tl.load(mask_2_ptr + offsets, mask=mask, other=0) != 0
    product = x * tl.where(mask_2, 1.0, 0.0)
    running_sum = tl.cumsum(product, axis=0)
    tl.store(out_ptr + offsets, running_sum, mask=mask)


def fused_mul_cumsum(x, mask_2):
    """Multiply and running sum in one kernel, in fp32."""
    if (
        x.dim() != 2
        or x.dtype not in (torch.float32, torch.float16, torch.bfloat16)
        or mask_2.dtype != torch.bool
        or mask_2.shape != x.shape
        or not 0 < x.shape[1] <= 2**20
        or x.numel() >= 2**31
    ):
        raise ValueError(
            "fused_mul_cumsum takes x of 2 dimensions; x of float32 or float16 or "
            "bfloat16; mask_2 of dtype torch.bool; mask_2 of shape x.shape; rows of 1 "
            "to 2**20 elements; fewer than 2**31 elements"
        )
    if torch.is_grad_enabled() and x.requires_grad:
        product = x * mask_2
        flip = product.flip(1)
        running_sum = torch.cumsum(flip, dim=1)
        return running_sum.flip(1)
    x = x.contiguous()
    mask_2 = mask_2.contiguous()
    out = torch.empty_like(x)
    length = x.shape[1]
    n_rows = out.numel() // length
    grid = (n_rows,)
    mul_cumsum_kernel[grid](
        x, mask_2, out, length, BLOCK=triton.next_power_of_2(length), num_warps=4
    )
    return out


class Model(nn.Module):
    """The sum of all later elements that a mask keeps."""

    def forward(self, x, mask):
        return fused_mul_cumsum(x, mask)


def get_inputs():
    return [torch.randn(64, 1000), torch.rand(64, 1000) > 0.5]


def get_init_inputs():
    return []
'''


STRATEGY = fusion(
    "scan",
    scan_regions,
    reason="Eager mode's scan reads and writes in passes of its own, and so does each flip, mask or product around it.",
    why="A scan and what stands before and after it each go through memory; one kernel reads and writes once.",
    doc="""\
Running sums and products (`cumsum`, `cumprod`) along any dim become one Triton kernel together with the operations around
them: pointwise ones, masks, `flip` (a scan from the end), `cat` and slices that shift (an exclusive scan), broadcasts and
dims in another order.

A row of up to 8192 elements is scanned at once, a longer one in steps that carry the running value; short rows share a
program. Along a dim that is not the last one a program walks down a strip of neighbouring columns. Sums are fp32.

What it cannot do: whole numbers, several scans along different dims, results that are used in two ways, `cummax`,
`logcumsumexp`. The kernel has no
backward: where autograd is on and an input requires a gradient, the launcher runs the operations of torch instead.
""",
    instruction=(
        "Replace the scan and the operations around it by one Triton kernel and a launching function above the class. Use "
        "tl.cumsum, tl.cumprod or tl.associative_scan on a row in registers, or on blocks with a carry. Fold flips and "
        "shifts into the index. Accumulate in fp32. Change no other line."
    ),
    example=Example(_BEFORE, _AFTER),
)
