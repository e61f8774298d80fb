"""Fuses a run of pointwise PyTorch operations, broadcasts included, into one Triton kernel with its launcher."""

from kernelwright.macro.fusions import fusions
from kernelwright.macro.intent import Around, Fuse, Intent
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.rewrite.candidates import pointwise_regions
from kernelwright.values import Action, Language, Refusal

_ID = "torch.fuse-pointwise"


def _find(observation: Observation) -> tuple[Action, ...] | Refusal:
    return fusions(_ID, observation, pointwise_regions, "The pointwise operations stand outside this kernel.")


def _intent(observation: Observation, action: Action) -> Intent | Refusal:
    return Fuse(Around.POINTWISE)


_BEFORE = '''import torch
import torch.nn as nn


class Model(nn.Module):
    """A linear layer with a scaled, clipped activation."""

    def __init__(self, features, scale):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.bias = nn.Parameter(torch.zeros(features))
        self.scale = scale

    def forward(self, x):
        x = self.linear(x)
        x = torch.relu(x + self.bias)
        x = x * self.scale
        return x


def get_inputs():
    return [torch.randn(64, 128)]


def get_init_inputs():
    return [128, 0.5]
'''

_AFTER = '''import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bias_relu_mul_kernel(
    x_ptr,
    bias_ptr,
    out_ptr,
    n_elements,
    scale,
    COLUMNS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Bias add, ReLU and multiply, a block of results a program."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    column = offsets % COLUMNS
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    bias = tl.load(bias_ptr + column, mask=mask).to(tl.float32)
    total = x + bias
    relu_out = tl.where(total < 0.0, 0.0, total)
    product = relu_out * scale
    tl.store(out_ptr + offsets, product, mask=mask)


def fused_bias_relu_mul(x, bias, scale):
    """Bias add, ReLU and multiply in one kernel, in fp32."""
    if (
        x.dtype not in (torch.float32, torch.float16, torch.bfloat16)
        or bias.dtype != x.dtype
        or bias.shape != x.shape[-1:]
        or x.numel() >= 2**31
    ):
        raise ValueError(
            "fused_bias_relu_mul takes x of float32 or float16 or bfloat16; bias of "
            "dtype x.dtype; bias of shape x.shape[-1:]; fewer than 2**31 elements"
        )
    if torch.is_grad_enabled() and any(t.requires_grad for t in (x, bias)):
        total = x + bias
        relu = torch.relu(total)
        return relu * scale
    x = x.contiguous()
    bias = bias.contiguous()
    out = torch.empty_like(x)
    n_elements = out.numel()
    grid = (triton.cdiv(n_elements, 1024),)
    bias_relu_mul_kernel[grid](
        x, bias, out, n_elements, scale, COLUMNS=x.shape[-1], BLOCK=1024, num_warps=4
    )
    return out


class Model(nn.Module):
    """A linear layer with a scaled, clipped activation."""

    def __init__(self, features, scale):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.bias = nn.Parameter(torch.zeros(features))
        self.scale = scale

    def forward(self, x):
        x = self.linear(x)
        x = fused_bias_relu_mul(x, self.bias, self.scale)
        return x


def get_inputs():
    return [torch.randn(64, 128)]


def get_init_inputs():
    return [128, 0.5]
'''


STRATEGY = Strategy(
    id=_ID,
    title="Fuse pointwise operations",
    family=Family.FUSION,
    languages=frozenset({Language.TORCH}),
    why="Each pointwise operation in eager mode reads and writes the whole tensor; one kernel does it once.",
    doc="""\
A run of pointwise operations (arithmetic, activations, comparisons, casts, broadcasts of a bias or scale, batch norm on
running statistics) becomes one Triton kernel that reads every input once and writes the result once. It computes in
fp32 also for half types, and keeps NaN as torch does.

A conversion between contiguous and channels-last tensors is such an operation too: the kernel reads a tile in one
layout and writes it in the other, so that the conversion costs no pass of its own, and alone it may be faster than
eager mode's copy.

A max or mean pool over square tiles that adjoin joins the run around it: each result walks over its tile, and what is
computed before the pool is never stored.

PyTorch runs cuDNN's convolutions without their bias and adds it in a further pass over the result. Where nothing but the
run reads that result, the convolution is called without its bias, by its function, and the kernel adds it; hooks of the
layer are then no longer called.

The run is found on the op graph of one call on the workload, so shapes, strides and dtypes are those that really occur;
the launcher takes its sizes from the tensors and so works for other shapes, for further leading dimensions where the text
counts from the last one, and in all of fp32, fp16 and bf16. Any other call raises a ValueError. What it cannot do: float64
and integer arithmetic, dropout and batch norm in training mode, statements in `while` loops, results that are used in
several places. Where code runs several times, the edit is one that is right for each of them. The kernel has no
backward: where autograd is on and an input requires a gradient, the launcher runs the operations of torch instead.
""",
    instruction=(
        "Replace the run of pointwise operations by one Triton kernel and a launching function above the class. Read each "
        "input once, compute in fp32, write once. Index broadcast inputs as (offsets // inner) % channels with constexpr "
        "sizes. Keep NaN behaviour and every constant. Change no other line."
    ),
    example=Example(_BEFORE, _AFTER),
    find=_find,
    intent=_intent,
    needs_graph=True,
    needs_gpu=True,
    promises_kernel=True,
)
