"""Makes one Triton kernel of a convolution and the operations that follow it."""

from kernelwright.macro.nests import fusion
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.nested import convolution_regions

_BEFORE = '''import torch
import torch.nn as nn


class Model(nn.Module):
    """A convolution with a scaled activation."""

    def __init__(self, channels, features, scale):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, 3, stride=2, padding=1)
        self.scale = scale

    def forward(self, x):
        x = torch.relu(self.conv(x))
        return x * self.scale


def get_inputs():
    return [torch.randn(2, 6, 25, 30)]


def get_init_inputs():
    return [6, 20, 0.5]
'''

_AFTER = '''import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv2d_relu_mul_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    out_ptr,
    n_rows,
    n_columns,
    depth,
    scale,
    OUT_WIDTH: tl.constexpr,
    KERNEL_HEIGHT: tl.constexpr,
    KERNEL_WIDTH: tl.constexpr,
    STRIDE_HEIGHT: tl.constexpr,
    PADDING_HEIGHT: tl.constexpr,
    HEIGHT: tl.constexpr,
    PADDING_WIDTH: tl.constexpr,
    STRIDE_WIDTH: tl.constexpr,
    WIDTH: tl.constexpr,
    CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    GROUP: tl.constexpr,
):
    """2-D convolution, ReLU and multiply, a tile of ROWS by COLUMNS a program."""
    column_tiles = tl.cdiv(n_columns, COLUMNS)
    tiles = tl.cdiv(n_rows, ROWS) * column_tiles
    tile = tl.program_id(0) % tiles
    item = tl.program_id(0) // tiles
    first = tile // (GROUP * column_tiles) * GROUP
    height = tl.minimum(tl.cdiv(n_rows, ROWS) - first, GROUP)
    number = tile % (GROUP * column_tiles)
    rows = (first + number % height) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = (number // height) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    heights = columns // OUT_WIDTH
    widths = columns % OUT_WIDTH
    product = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    for start in range(0, depth, DEPTH):
        left_inner = start + tl.arange(0, DEPTH)[None, :]
        weight_at = rows * depth + left_inner
        weight = tl.load(
            weight_ptr + weight_at, mask=(rows < n_rows) & (left_inner < depth), other=0
        )
        weight = weight.to(tl.float32)
        right_inner = start + tl.arange(0, DEPTH)[:, None]
        feature = right_inner // (KERNEL_HEIGHT * KERNEL_WIDTH)
        i = right_inner // KERNEL_WIDTH % KERNEL_HEIGHT
        j = right_inner % KERNEL_WIDTH
        h = STRIDE_HEIGHT * heights + i - PADDING_HEIGHT
        w = STRIDE_WIDTH * widths + j - PADDING_WIDTH
        inside = (
            (columns < n_columns)
            & (right_inner < depth)
            & (h >= 0)
            & (h < HEIGHT)
            & (w >= 0)
            & (w < WIDTH)
        )
        x_at = ((item * CHANNELS + feature) * HEIGHT + h) * WIDTH + w
        x = tl.load(x_ptr + x_at, mask=inside, other=0).to(tl.float32)
        product = tl.dot(weight, x, product, input_precision="tf32")
    mask = (rows < n_rows) & (columns < n_columns)
    offsets = (item * n_rows + rows) * n_columns + columns
    bias = tl.load(bias_ptr + rows, mask=rows < n_rows, other=0).to(tl.float32)
    biased = product + bias
    relu_out = tl.where(biased < 0.0, 0.0, biased)
    product_2 = relu_out * scale
    tl.store(out_ptr + offsets, product_2, mask=mask)


def fused_conv2d_relu_mul(
    x,
    weight,
    bias,
    groups,
    stride_height,
    stride_width,
    padding_height,
    padding_width,
    dilation_height,
    dilation_width,
    scale,
):
    """2-D convolution, ReLU and multiply in one kernel."""
    if (
        x.dim() != 4
        or x.dtype not in (torch.float32, torch.float16, torch.bfloat16)
        or not weight.dtype == bias.dtype == x.dtype
        or weight.dim() != 4
        or bias.dim() != 1
        or weight.numel() >= 2**31
        or x.shape[1] != weight.shape[1]
        or bias.shape[0] != weight.shape[0]
        or dilation_height != 1
        or dilation_width != 1
        or groups != 1
        or x.numel() >= 2**31
    ):
        raise ValueError(
            "fused_conv2d_relu_mul takes x of 4 dimensions; x of float32 or float16 or "
            "bfloat16; weight, bias of dtype x.dtype; weight of 4 dimensions; bias of "
            "1 dimension; weight of fewer than 2**31 elements; x.shape[1] of "
            "weight.shape[1]; bias.shape[0] of weight.shape[0]; dilation_height of 1; "
            "dilation_width of 1; groups of 1; fewer than 2**31 elements"
        )
    if torch.is_grad_enabled() and any(t.requires_grad for t in (x, weight, bias)):
        conv2d = torch.nn.functional.conv2d(
            x,
            weight,
            bias,
            stride=(stride_height, stride_width),
            padding=(padding_height, padding_width),
            dilation=(dilation_height, dilation_width),
        )
        relu = torch.relu(conv2d)
        return relu * scale
    x = x.contiguous()
    weight = weight.contiguous()
    bias = bias.contiguous()
    room = x.shape[2] + padding_height * 2 - weight.shape[2]
    out_height = room // stride_height + 1
    room = x.shape[3] + padding_width * 2 - weight.shape[3]
    out_width = room // stride_width + 1
    out = x.new_empty((x.shape[0], weight.shape[0], out_height, out_width))
    if out.numel() >= 2**31:
        raise ValueError("fused_conv2d_relu_mul makes fewer than 2**31 elements")
    n_rows = weight.shape[0]
    n_columns = out_height * out_width
    depth = weight.shape[1:4].numel()
    tiles = triton.cdiv(n_rows, 64) * triton.cdiv(n_columns, 128)
    grid = (x.shape[0] * tiles,)
    conv2d_relu_mul_kernel[grid](
        x,
        weight,
        bias,
        out,
        n_rows,
        n_columns,
        depth,
        scale,
        OUT_WIDTH=out_width,
        KERNEL_HEIGHT=weight.shape[2],
        KERNEL_WIDTH=weight.shape[3],
        STRIDE_HEIGHT=stride_height,
        PADDING_HEIGHT=padding_height,
        HEIGHT=x.shape[2],
        PADDING_WIDTH=padding_width,
        STRIDE_WIDTH=stride_width,
        WIDTH=x.shape[3],
        CHANNELS=x.shape[1],
        ROWS=64,
        COLUMNS=128,
        DEPTH=32,
        GROUP=8,
        num_warps=4,
        num_stages=3,
    )
    return out


class Model(nn.Module):
    """A convolution with a scaled activation."""

    def __init__(self, channels, features, scale):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, 3, stride=2, padding=1)
        self.scale = scale

    def forward(self, x):
        return fused_conv2d_relu_mul(
            x,
            self.conv.weight,
            self.conv.bias,
            self.conv.groups,
            self.conv.stride[0],
            self.conv.stride[1],
            self.conv.padding[0],
            self.conv.padding[1],
            self.conv.dilation[0],
            self.conv.dilation[1],
            self.scale,
        )


def get_inputs():
    return [torch.randn(2, 6, 25, 30)]


def get_init_inputs():
    return [6, 20, 0.5]
'''


STRATEGY = fusion(
    "convolution",
    convolution_regions,
    family=Family.TENSOR_CORE,
    reason="What follows a convolution goes through memory once more, and some kinds of convolutions are far from the roof.",
    why="One kernel makes a convolution from tensor-core products of its windows, and does on the tile what follows.",
    doc="""\
Convolutions and transposed convolutions of one, two or three dims, with any stride, padding, dilation and groups, become one
Triton kernel together with the pointwise operations that follow: bias, activation, scale, residual, batch norm in eval mode.

The kernel is an implicit matrix product: rows are channels of the result, columns its positions, and the inner axis runs
through the channels and the window of the input. A transposed convolution with a stride is made as one convolution for each
residue of the position, with only those elements of the window that meet the input there: none for some residues where the
stride and the dilation share a factor. Where each channel is made of one channel alone (depthwise), every lane of a program
walks through its own window.

On a GPU eager mode computes fp32 convolutions as TF32 products by default, so TF32 tiles are tried there beside tiles that are
as accurate as fp32: the gate judges by the baseline's own error. Which of them is fastest, a race says; where the library is
faster, nothing is kept. On an H100, of eight fp32 convolutions of KernelBench one, transposed in 3-D, was 1.11 times as fast as
cuDNN's TF32 kernels; six ran at 0.31 to 0.74 times their speed, and one was refused for its accuracy.

What it cannot do: fewer than 8 channels or positions, a padding given as a word, channels-last tensors, operands that are
computed in front. The kernel has no
backward: where autograd is on and an input requires a gradient, the launcher runs the operations of torch instead.
""",
    instruction=(
        "Replace the convolution and the pointwise operations that follow it by one Triton kernel and a launching function "
        "above the class: an implicit matrix product of the weight with the windows of the input, added up in fp32, with masks "
        "at the padding and at the edges of all three extents. Change no other line."
    ),
    example=Example(_BEFORE, _AFTER),
)
