"""Fuses a run of pointwise PyTorch operations, broadcasts included, into one Triton kernel with its launcher."""

from kernelwright.macro.fusions import fusions
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.rewrite.candidates import observed, pointwise_regions, region_of
from kernelwright.micro.rewrite.naming import base_name
from kernelwright.micro.rewrite.print_pointwise import VARIANTS, print_pointwise
from kernelwright.micro.rewrite.print_pooled import print_pooled
from kernelwright.micro.rewrite.print_pooled import tiles as pooled_tiles
from kernelwright.micro.rewrite.print_transposing import print_transposing, tiles
from kernelwright.micro.rewrite.regions import names_for
from kernelwright.micro.rewrite.triton_printer import pointers
from kernelwright.values import Action, Edits, Language, Refusal

_ID = "torch.fuse-pointwise"


def _applies(observation: Observation) -> tuple[Action, ...] | Refusal:
    return fusions(_ID, observation, pointwise_regions, "The pointwise operations stand outside this kernel.")


def _rewrite(observation: Observation, action: Action) -> tuple[Edits, ...] | Refusal:
    source = observed(observation.text, observation.graph)
    if isinstance(source, Refusal):
        return source
    region = region_of(source, action, rows=False)
    if isinstance(region, Refusal):
        return region
    program, edit = region.program, region.edit
    names = names_for(source, base_name(program))
    dtype = source.graph.value(program.domain.value).type.dtype
    if region.pool:
        pool = region.pool
        kernels = [print_pooled(program, pool, dtype, names, t, observation.text) for t in pooled_tiles(program)]
    elif program.transposes:
        kernels = [print_transposing(program, dtype, names, tile, observation.text) for tile in tiles(program)]
    else:
        kernels = [print_pointwise(program, dtype, names, *size, observation.text) for size in VARIANTS]
    window = [region.pool.expression] if region.pool and region.pool.expression else []
    variants = []
    for printed in kernels:
        call = edit.call(printed.call, pointers(program), [*program.scalars.values(), *window])
        variants.append(edit.with_call(call, printed.definitions, ("torch", "triton", "tl"), printed.summary))
    return tuple(variants)


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
    CHANNELS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Bias add, ReLU and multiply over a dense tensor, one block a program."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    bias = tl.load(bias_ptr + (offsets % CHANNELS), mask=mask).to(tl.float32)
    total = x + bias
    relu_out = tl.where(total < 0.0, 0.0, total)
    product = relu_out * scale
    tl.store(out_ptr + offsets, product, mask=mask)


def fused_bias_relu_mul(x, bias, scale):
    """Bias add, ReLU and multiply in one pass, in fp32; forward only."""
    x = x.contiguous()
    bias = bias.contiguous()
    out = torch.empty_like(x)
    n_elements = out.numel()
    assert n_elements < 2**31, "offsets are 32-bit"
    grid = (triton.cdiv(n_elements, 1024),)
    bias_relu_mul_kernel[grid](
        x, bias, out, n_elements, scale, CHANNELS=bias.numel(), BLOCK=1024, num_warps=4
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
computed before the pool is never stored. Beside the pooled tensor such a kernel reads numbers and channel vectors only.

PyTorch runs cuDNN's convolutions without their bias and adds it in a further pass over the result. Where nothing but the
run reads that result, the convolution is called without its bias, by its function, and the kernel adds it; hooks of the
layer are then no longer called.

The run is found on the op graph of one call on the workload, so shapes, strides and dtypes are those that really occur;
the launcher takes its sizes from the tensors and so works for other shapes. What it cannot do: float64 and integer
arithmetic, dropout and batch norm in training mode, statements in loops, results that are used in several places. It is
for the forward pass only: no gradient flows through the kernel.
""",
    instruction=(
        "Replace the run of pointwise operations by one Triton kernel and a launching function above the class. Read each "
        "input once, compute in fp32, write once. Index broadcast inputs as (offsets // inner) % channels with constexpr "
        "sizes. Keep NaN behaviour and every constant. Change no other line."
    ),
    example=Example(_BEFORE, _AFTER),
    applies=_applies,
    rewrite=_rewrite,
    needs_graph=True,
    needs_gpu=True,
    promises_kernel=True,
)
