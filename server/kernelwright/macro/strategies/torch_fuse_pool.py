"""Makes one Triton kernel of a pool of any window and the operations around it."""

from kernelwright.macro.nests import fusion
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.nested import pool_regions

_BEFORE = '''import torch
import torch.nn as nn


class Model(nn.Module):
    """An activation between a padded pool and a scale."""

    def __init__(self, scale):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.scale = scale

    def forward(self, x):
        x = torch.relu(x)
        x = self.pool(x)
        return x * self.scale


def get_inputs():
    return [torch.randn(2, 8, 33, 17)]


def get_init_inputs():
    return [0.5]
'''

_AFTER = '''import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def nan_max(a, b):
    """The larger one, NaN when either is."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def relu_max_pool2d_mul_kernel(
    x_ptr,
    out_ptr,
    n_elements,
    scale,
    KERNEL_SIZE: tl.constexpr,
    DILATION: tl.constexpr,
    STRIDE: tl.constexpr,
    PADDING: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
    OUT_HEIGHT: tl.constexpr,
    OUT_WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """ReLU, max pool and multiply, a block of results a program."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    plane = offsets // (OUT_HEIGHT * OUT_WIDTH)
    height = offsets // OUT_WIDTH % OUT_HEIGHT
    width = offsets % OUT_WIDTH
    pooled = tl.full([BLOCK], float("-inf"), dtype=tl.float32)
    for i in tl.static_range(KERNEL_SIZE):
        for j in tl.static_range(KERNEL_SIZE):
            h = STRIDE * height + DILATION * i - PADDING
            w = STRIDE * width + DILATION * j - PADDING
            inside = mask & (h >= 0) & (h < HEIGHT) & (w >= 0) & (w < WIDTH)
            x_at = (plane * HEIGHT + h) * WIDTH + w
            x = tl.load(x_ptr + x_at, mask=inside, other=0).to(tl.float32)
            relu_out = tl.where(x < 0.0, 0.0, x)
            pooled = nan_max(pooled, tl.where(inside, relu_out, float("-inf")))
    product = pooled * scale
    tl.store(out_ptr + offsets, product, mask=mask)


def fused_relu_max_pool2d_mul(x, kernel_size, stride, padding, dilation, scale):
    """ReLU, max pool and multiply in one kernel, in fp32."""
    if (
        x.dim() != 4
        or x.dtype not in (torch.float32, torch.float16, torch.bfloat16)
        or x.numel() >= 2**31
    ):
        raise ValueError(
            "fused_relu_max_pool2d_mul takes x of 4 dimensions; x of float32 or "
            "float16 or bfloat16; fewer than 2**31 elements"
        )
    if torch.is_grad_enabled() and x.requires_grad:
        relu = torch.relu(x)
        max_pool2d = torch.nn.functional.max_pool2d(
            relu, kernel_size=kernel_size, stride=stride, padding=padding
        )
        return max_pool2d * scale
    x = x.contiguous()
    room = x.shape[2] + dilation + padding * 2 - dilation * kernel_size - 1
    out_height = room // stride + 1
    room = x.shape[3] + dilation + padding * 2 - dilation * kernel_size - 1
    out_width = room // stride + 1
    out = x.new_empty((*x.shape[:2], out_height, out_width))
    if out.numel() >= 2**31:
        raise ValueError("fused_relu_max_pool2d_mul makes fewer than 2**31 elements")
    n_elements = out.numel()
    grid = (triton.cdiv(n_elements, 512),)
    relu_max_pool2d_mul_kernel[grid](
        x,
        out,
        n_elements,
        scale,
        KERNEL_SIZE=kernel_size,
        DILATION=dilation,
        STRIDE=stride,
        PADDING=padding,
        HEIGHT=x.shape[2],
        WIDTH=x.shape[3],
        OUT_HEIGHT=out_height,
        OUT_WIDTH=out_width,
        BLOCK=512,
        num_warps=4,
    )
    return out


class Model(nn.Module):
    """An activation between a padded pool and a scale."""

    def __init__(self, scale):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.scale = scale

    def forward(self, x):
        return fused_relu_max_pool2d_mul(
            x,
            self.pool.kernel_size,
            self.pool.stride,
            self.pool.padding,
            self.pool.dilation,
            self.scale,
        )


def get_inputs():
    return [torch.randn(2, 8, 33, 17)]


def get_init_inputs():
    return [0.5]
'''


STRATEGY = fusion(
    "pool",
    pool_regions,
    reason="Eager mode's pool is a kernel of its own, far from the memory roof for some windows; a measurement can tell.",
    why="A pool and the pointwise operations around it each go through memory; one kernel reads and writes once.",
    doc="""\
Maximum and average pools of one, two or three dims, with any window, stride, padding and dilation, become one Triton
kernel together with the pointwise operations around them. Every lane of a program walks through the window of one result.
What stands before a pool joins it only where the window is small, as it is computed anew for every window.

Pools over small adjoining tiles belong to torch.fuse-pointwise, which also knows channels-last tensors.

What it cannot do: `ceil_mode`, indices, windows of more than 512 elements, channels-last tensors. The kernel has no
backward: where autograd is on and an input requires a gradient, the launcher runs the operations of torch instead.
""",
    instruction=(
        "Replace the pool and the pointwise operations around it by one Triton kernel and a launching function above the "
        "class: one lane a result, loops over the window with tl.static_range, masks at the padding. A maximum keeps NaN. "
        "Change no other line."
    ),
    example=Example(_BEFORE, _AFTER),
)
