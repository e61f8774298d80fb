"""Makes one Triton kernel of a loss or another reduction and the operations around it."""

from kernelwright.macro.nests import fusion
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.nested import reduction_regions

_BEFORE = '''import torch
import torch.nn as nn


class Model(nn.Module):
    """Cross entropy of logits that are divided by a temperature."""

    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, logits, targets):
        scaled = logits / self.temperature
        return nn.functional.cross_entropy(scaled, targets)


def get_inputs():
    return [torch.randn(16, 10), torch.randint(0, 10, (16,))]


def get_init_inputs():
    return [0.5]
'''

_AFTER = '''import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def join_exponentials(top, total, other_top, other_total):
    """Maximum, and sum of exponentials below it, of two parts; (-inf, 0) is nothing."""
    larger = tl.maximum(top, other_top)
    shift = tl.where(larger == float("-inf"), 0.0, larger)
    left = total * tl.exp(top - shift)
    return larger, left + other_total * tl.exp(other_top - shift)


@triton.jit
def div_cross_entropy_kernel(
    logits_ptr,
    targets_ptr,
    out_ptr,
    n_rows,
    length,
    temperature,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Divide and cross entropy, one program walks along all rows."""
    loss_sum = tl.zeros([ROWS, 1], dtype=tl.float32)
    count = tl.zeros([ROWS, 1], dtype=tl.float32)
    for first in range(0, n_rows, ROWS):
        rows = first + tl.arange(0, ROWS)[:, None]
        targets = tl.load(targets_ptr + rows, mask=rows < n_rows, other=0)
        inside = (rows < n_rows) & (targets >= 0) & (targets < length)
        tl.device_assert(
            inside | (targets == -100), "targets is out of range", mask=rows < n_rows
        )
        logits_2_at = rows * length + targets
        logits_2 = tl.load(logits_ptr + logits_2_at, mask=inside, other=0)
        logits_2 = logits_2.to(tl.float32)
        quotient_2 = logits_2 / temperature
        counted = tl.where(targets == -100, 0.0, 1.0)
        row_max = tl.full([ROWS, BLOCK], float("-inf"), dtype=tl.float32)
        exponential_sum = tl.zeros([ROWS, BLOCK], dtype=tl.float32)
        for start in range(0, length, BLOCK):
            columns = start + tl.arange(0, BLOCK)[None, :]
            mask = (rows < n_rows) & (columns < length)
            logits_at = rows * length + columns
            logits = tl.load(logits_ptr + logits_at, mask=mask, other=0).to(tl.float32)
            quotient = logits / temperature
            row_max, exponential_sum = join_exponentials(
                row_max,
                exponential_sum,
                tl.where(mask, quotient, float("-inf")),
                1.0,
            )
        row_max, exponential_sum = tl.reduce(
            (row_max, exponential_sum),
            1,
            join_exponentials,
            keep_dims=True,
        )
        picked = tl.log(exponential_sum) - (quotient_2 - row_max)
        loss = tl.where(targets == -100, 0.0, picked)
        loss_sum += tl.where(rows < n_rows, loss, 0.0)
        count += tl.where(rows < n_rows, counted, 0.0)
    loss_sum = tl.sum(loss_sum)
    count = tl.sum(count)
    mean_loss = loss_sum / count
    tl.store(out_ptr, mean_loss)


def fused_div_cross_entropy(logits, targets, temperature):
    """Divide and cross entropy in one kernel, in fp32."""
    if (
        logits.dim() != 2
        or logits.dtype not in (torch.float32, torch.float16, torch.bfloat16)
        or targets.dtype != torch.int64
        or targets.dim() != 1
        or targets.shape[0] != logits.shape[0]
        or logits.shape[1] == 0
        or logits.numel() >= 2**31
    ):
        raise ValueError(
            "fused_div_cross_entropy takes logits of 2 dimensions; logits of float32 "
            "or float16 or bfloat16; targets of dtype torch.int64; targets of 1 "
            "dimension; targets.shape[0] of logits.shape[0]; rows that are not empty; "
            "fewer than 2**31 elements"
        )
    if torch.is_grad_enabled() and logits.requires_grad:
        quotient = logits / temperature
        return torch.nn.functional.cross_entropy(quotient, targets)
    logits = logits.contiguous()
    targets = targets.contiguous()
    out = logits.new_empty(())
    n_rows = logits.shape[0]
    length = logits.shape[1]
    div_cross_entropy_kernel[(1,)](
        logits,
        targets,
        out,
        n_rows,
        length,
        temperature,
        ROWS=64,
        BLOCK=16,
        num_warps=8,
        debug=True,
        sanitize_overflow=False,
    )
    return out


class Model(nn.Module):
    """Cross entropy of logits that are divided by a temperature."""

    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, logits, targets):
        return fused_div_cross_entropy(logits, targets, self.temperature)


def get_inputs():
    return [torch.randn(16, 10), torch.randint(0, 10, (16,))]


def get_init_inputs():
    return [0.5]
'''


STRATEGY = fusion(
    "reduction",
    reduction_regions,
    reason="Eager mode writes what it reduces before it reads it again; one kernel reads the inputs once.",
    why="A loss goes through its operands several times and keeps what it finds in memory; one kernel reads them once.",
    doc="""\
Losses and reductions that torch.fuse-row-reduction does not know become one Triton kernel together with the pointwise
operations around them: cross entropy and negative log likelihood of class indices, with weights and `ignore_index`,
triplet margin loss, reductions after one another that end in one number, and maxima and minima together with their indices.
Batch norm in training is one kernel for the statistics of each channel (Welford's, joined as Chan, Golub and LeVeque do),
which moves the running ones too, and one that applies them together with what follows.

Every program folds its rows in steps, or a part of them, and a second kernel joins the parts, in the same order each time:
there are no atomic additions, so that results repeat. Exponentials are summed below a running maximum, in one pass. Of equal
extremes the first counts, and NaN before all, as in torch. A class index out of range stops the kernel with a device
assertion, as it stops those of torch.

What it cannot do: what is reduced again after a first reduction was applied, running statistics that something else reads,
label smoothing, targets that are probabilities, reductions over different dims side by side. The kernel has no
backward: where autograd is on and an input requires a gradient, the launcher runs the operations of torch instead.
""",
    instruction=(
        "Replace the loss and the pointwise operations around it by one Triton kernel and a launching function above the "
        "class. Fold rows in steps with fp32 accumulators, store what each program carries, and join the parts in a second "
        "kernel instead of by atomic additions. Mask the tail, and check class indices with tl.device_assert. Change no other "
        "line."
    ),
    example=Example(_BEFORE, _AFTER),
)
