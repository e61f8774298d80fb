"""Fuses a row reduction or normalisation with the pointwise operations around it into one Triton kernel."""

from kernelwright.macro.fusions import fusions
from kernelwright.macro.intent import Around, Fuse, Intent
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.rewrite.candidates import row_regions
from kernelwright.values import Action, Language, Refusal

_ID = "torch.fuse-row-reduction"


def _find(observation: Observation) -> tuple[Action, ...] | Refusal:
    return fusions(_ID, observation, row_regions, "The reduction stands outside this kernel.")


def _intent(observation: Observation, action: Action) -> Intent | Refusal:
    return Fuse(Around.ROWS)


_BEFORE = '''import torch
import torch.nn as nn


class Model(nn.Module):
    """RMSNorm written out, with a learned scale."""

    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.eps = eps

    def forward(self, x):
        mean_square = x.pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(mean_square + self.eps)
        return x * self.weight


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return [1000]
'''

_AFTER = '''import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, out_ptr, length, eps, BLOCK: tl.constexpr):
    """RMSNorm, one row a program."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < length
    offsets = row * length + columns
    x = tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.float32)
    weight = tl.load(weight_ptr + columns, mask=mask, other=0).to(tl.float32)
    power = x * x
    row_sum = tl.sum(tl.where(mask, power, 0.0), axis=0)
    mean = row_sum / length
    total = mean + eps
    rsqrt_out = tl.rsqrt(total)
    product = x * rsqrt_out
    product_2 = product * weight
    tl.store(out_ptr + offsets, product_2, mask=mask)


def fused_rms_norm(x, weight, eps):
    """RMSNorm in one kernel, in fp32."""
    if (
        x.dtype not in (torch.float32, torch.float16, torch.bfloat16)
        or weight.dtype != x.dtype
        or weight.shape != x.shape[-1:]
        or not 0 < x.shape[-1] <= 2**20
        or x.numel() >= 2**31
    ):
        raise ValueError(
            "fused_rms_norm takes x of float32 or float16 or bfloat16; weight of dtype "
            "x.dtype; weight of shape x.shape[-1:]; rows of 1 to 2**20 elements; fewer "
            "than 2**31 elements"
        )
    if torch.is_grad_enabled() and any(t.requires_grad for t in (x, weight)):
        power = x**2
        mean = torch.mean(power, dim=-1, keepdim=True)
        total = mean + eps
        rsqrt = torch.rsqrt(total)
        product = x * rsqrt
        return product * weight
    x = x.contiguous()
    weight = weight.contiguous()
    length = x.shape[-1]
    n_rows = x.numel() // length
    out = torch.empty_like(x)
    grid = (n_rows,)
    rms_norm_kernel[grid](
        x, weight, out, length, eps, BLOCK=triton.next_power_of_2(length), num_warps=4
    )
    return out


class Model(nn.Module):
    """RMSNorm written out, with a learned scale."""

    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.eps = eps

    def forward(self, x):
        return fused_rms_norm(x, self.weight, self.eps)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return [1000]
'''


STRATEGY = Strategy(
    id=_ID,
    title="Fuse row reduction",
    family=Family.FUSION,
    languages=frozenset({Language.TORCH}),
    why="A reduction and the operations around it each read the whole tensor; one kernel keeps the row on the chip.",
    doc="""\
Softmax, log-softmax, logsumexp, layer, group, instance and RMS norm (also written out by hand), sum, mean, max, min, var,
std, norms and argmax over one or several neighbouring dims become one Triton kernel together with the pointwise
operations before and after.

A row that fits is kept in registers whole (the launcher checks that a block takes it), several short rows share a
program, and a long row is walked in steps: the maximum and sum of a softmax in one pass (online softmax), mean and
variance in one pass (Welford), so that each further pass reads the row once. Variances are never computed as E[x^2] -
E[x]^2, sums are fp32, and maxima are subtracted before exponentials. A reduction over a middle dim takes a strip of
neighbouring columns, so that loads stay contiguous.

Of a channels-last tensor it reduces the channels of each position, which are neighbours there, or positions of each channel,
in strips of channels. The result is stored as eager mode would store it, mostly contiguous.

The bias of a convolution in front joins the kernel as it does in torch.fuse-pointwise.

Few but very long rows, and reductions of the whole tensor to one number (losses, Frobenius norm), are split over many
programs whose parts a second kernel joins.

What it cannot do: dims that do not lie side by side, group norm of channels-last tensors, float64, cumulative
sums, batch norm in training mode. The kernel has no
backward: where autograd is on and an input requires a gradient, the launcher runs the operations of torch instead.
""",
    instruction=(
        "Replace the reduction and the pointwise operations around it by one Triton kernel and a launching function above "
        "the class. Keep a row in registers when it has at most 16384 elements, else loop with an online softmax or "
        "Welford's mean and variance. Accumulate in fp32 and mask the tail. Change no other line."
    ),
    example=Example(_BEFORE, _AFTER),
    find=_find,
    intent=_intent,
    needs_graph=True,
    needs_gpu=True,
    promises_kernel=True,
)
