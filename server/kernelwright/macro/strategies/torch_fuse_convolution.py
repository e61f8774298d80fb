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
def rounded_channels_last_kernel(
    x_ptr,
    rounded_ptr,
    scale_ptr,
    found_ptr,
    item_stride,
    channel_stride,
    n_items,
    n_channels,
    most_lost,
    depth,
    height,
    width,
    padded_depth,
    padded_height,
    padded_width,
    front,
    above,
    before,
    groups,
    AGAIN: tl.constexpr,
    CHANNELS: tl.constexpr,
    BLOCK: tl.constexpr,
    POSITIONS: tl.constexpr,
):
    """Each element rounded to fp16, scaled by a power of two."""
    item = tl.program_id(1).to(tl.int64)
    positions = padded_depth * padded_height * padded_width
    tiles = tl.cdiv(positions, POSITIONS)
    exponent = 131
    if AGAIN:
        largest = tl.load(found_ptr + item) >> 23
        usual = (largest >= 123) & (largest <= 131)  # from 2**-4 to 2**5
        usual = usual & (tl.load(found_ptr + n_items + item) <= most_lost)
        exponent = tl.where(usual, 131, tl.maximum(largest, 15))
        tl.store(scale_ptr + item, ((exponent - 14) << 23).to(tl.float32, bitcast=True))
        tiles = tl.where(usual, 0, tiles)
    scale = (tl.zeros([1, 1], dtype=tl.int32) + ((268 - exponent) << 23)).to(tl.float32, bitcast=True)
    biggest = tl.zeros([BLOCK, POSITIONS], dtype=tl.int32)
    lost = tl.zeros([BLOCK, POSITIONS], dtype=tl.int32)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        position = tile * POSITIONS + tl.arange(0, POSITIONS)[None, :]
        w = position % padded_width - before
        h = position // padded_width % padded_height - above
        d = position // (padded_width * padded_height) - front
        inside = (w >= 0) & (w < width) & (h >= 0) & (h < height) & (d >= 0) & (d < depth)
        inside = inside & (position < positions)
        x_at = item * item_stride + ((d * height + h) * width + w)
        for start in range(0, groups * CHANNELS, BLOCK):
            made = start + tl.arange(0, BLOCK)[:, None]
            of_group = made % CHANNELS
            channel = made // CHANNELS * n_channels + of_group
            there = inside & (of_group < n_channels) & (made < groups * CHANNELS)
            x = tl.load(x_ptr + x_at + channel.to(tl.int64) * channel_stride, mask=there, other=0.0)
            x = x.to(tl.float32)
            bits = x.to(tl.int32, bitcast=True) & 0x7FFFFFFF
            biggest = tl.maximum(biggest, tl.where(bits < 0x7F800000, bits, 0))
            lost += ((bits > 0) & (bits >> 23 < exponent - 28)).to(tl.int32)
            rounded = (x * scale).to(tl.float16)
            place = (item * positions + position) * (groups * CHANNELS) + made
            mask = (position < positions) & (made < groups * CHANNELS)
            tl.store(rounded_ptr + place, rounded, mask=mask)
    if not AGAIN:
        tl.atomic_max(found_ptr + item, tl.max(tl.max(biggest, axis=1), axis=0))
    tl.atomic_add(found_ptr + (2 if AGAIN else 1) * n_items + item, tl.sum(tl.sum(lost, axis=1), axis=0))


def rounded_channels_last(x, groups, channels, borders):
    """The elements of x rounded to fp16, channels last, padded, their scales, and how many have lost digits."""
    size = (1, 1, *x.shape[2:])[-3:]
    sides = ((0, 0), (0, 0), *borders)[-3:]
    padded = [n + before + after for n, (before, after) in zip(size, sides)]
    shape = (x.shape[0], *padded[3 - len(borders) :], groups * channels)
    rounded = x.new_empty(shape, dtype=torch.float16)
    scale = x.new_empty(x.shape[0], dtype=torch.float32)
    found = x.new_zeros((3, x.shape[0]), dtype=torch.int32)
    block = min(triton.next_power_of_2(groups * channels), 16)
    positions = 2048 // block
    tiles = triton.cdiv(padded[0] * padded[1] * padded[2], positions)
    few = triton.cdiv(1024, max(x.shape[0], 1))
    for again, programs in ((False, tiles), (True, min(tiles, few))):
        rounded_channels_last_kernel[programs, x.shape[0]](
            x,
            rounded,
            scale,
            found,
            *x.stride()[:2],
            x.shape[0],
            x.shape[1] // groups,
            x.shape[1:].numel() // 1024,
            *size,
            *padded,
            *(before for before, _ in sides),
            groups,
            AGAIN=again,
            CHANNELS=channels,
            BLOCK=block,
            POSITIONS=positions,
            num_warps=4,
        )
    return rounded, scale, found[2]


@triton.jit
def conv2d_relu_mul_kernel(
    left_rounded_ptr,
    left_scale_ptr,
    right_rounded_ptr,
    right_scale_ptr,
    right_lost_ptr,
    bias_ptr,
    out_ptr,
    n_rows,
    n_columns,
    line_size,
    image_size,
    most_lost,
    scale,
    CHANNELS: tl.constexpr,
    STRIDE_HEIGHT: tl.constexpr,
    STRIDE_WIDTH: tl.constexpr,
    IMAGE_WIDTH: tl.constexpr,
    KERNEL_HEIGHT: tl.constexpr,
    KERNEL_WIDTH: tl.constexpr,
    OUT_WIDTH: tl.constexpr,
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
    if tl.load(right_lost_ptr + item) > most_lost:
        return
    positions = columns % n_columns
    image_heights = positions // OUT_WIDTH
    image_widths = positions % OUT_WIDTH
    corner = (
        ((STRIDE_HEIGHT * image_heights) * IMAGE_WIDTH + STRIDE_WIDTH * image_widths).to(tl.int64)
        * CHANNELS
    )
    line = rows % n_rows
    left_rounded_ptr += line.to(tl.int64) * line_size
    right_rounded_ptr += item.to(tl.int64) * image_size + corner
    stop = KERNEL_HEIGHT * KERNEL_WIDTH * CHANNELS
    product = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    for start in range(0, stop, DEPTH):
        inner = start + tl.arange(0, DEPTH)
        feature = inner % CHANNELS
        tap = inner // CHANNELS
        i = tap // KERNEL_WIDTH
        j = tap % KERNEL_WIDTH
        right_at = (i * IMAGE_WIDTH + j) * CHANNELS + feature
        left_rounded = tl.load(
            left_rounded_ptr + inner[None, :], mask=inner[None, :] < stop, other=0.0
        )
        right_rounded = tl.load(
            right_rounded_ptr + right_at[:, None], mask=inner[:, None] < stop, other=0.0
        )
        product = tl.dot(left_rounded, right_rounded, product)
    product *= tl.load(left_scale_ptr + line) * tl.load(right_scale_ptr + item)
    mask = (rows < n_rows) & (columns < n_columns)
    offsets = (item * n_rows + rows) * n_columns + columns
    bias = tl.load(bias_ptr + rows, mask=rows < n_rows, other=0).to(tl.float32)
    biased = product + bias
    relu_out = tl.where(biased < 0.0, 0.0, biased)
    product_2 = relu_out * scale
    tl.store(out_ptr + offsets, product_2, mask=mask)


@triton.jit
def wide_range_conv2d_relu_mul_kernel(
    lost_ptr,
    x_ptr,
    weight_ptr,
    bias_ptr,
    out_ptr,
    n_rows,
    n_columns,
    depth,
    most_lost,
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
    """2-D convolution, ReLU and multiply of items whose elements are too different in size for fp16."""
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
    if tl.load(lost_ptr + item) <= most_lost:
        return
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
    """2-D convolution, ReLU and multiply; the product of operands rounded to fp16."""
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
    channels = max(triton.next_power_of_2(weight.shape[1]), 4)
    # The GPU is busy with the image while the rest is launched.
    right_parts = rounded_channels_last(
        x,
        1,
        channels,
        ((padding_height, padding_height), (padding_width, padding_width)),
    )
    left_parts = rounded_channels_last(weight, 1, channels, ((0, 0), (0, 0)))
    line_size, image_size = left_parts[0].stride(0), right_parts[0].stride(0)
    most_lost = x.shape[1:].numel() // 1024
    tiles = triton.cdiv(n_rows, 32) * triton.cdiv(n_columns, 256)
    grid = (x.shape[0] * tiles,)
    conv2d_relu_mul_kernel[grid](
        *left_parts[:-1],
        *right_parts,
        bias,
        out,
        n_rows,
        n_columns,
        line_size,
        image_size,
        most_lost,
        scale,
        CHANNELS=channels,
        STRIDE_HEIGHT=stride_height,
        STRIDE_WIDTH=stride_width,
        IMAGE_WIDTH=right_parts[0].shape[2],
        KERNEL_HEIGHT=weight.shape[2],
        KERNEL_WIDTH=weight.shape[3],
        OUT_WIDTH=out_width,
        ROWS=32,
        COLUMNS=256,
        DEPTH=32,
        GROUP=8,
        num_warps=4,
        num_stages=4,
    )
    tiles = triton.cdiv(n_rows, 64) * triton.cdiv(n_columns, 64)
    grid = (x.shape[0] * tiles,)
    wide_range_conv2d_relu_mul_kernel[grid](
        right_parts[-1],
        x,
        weight,
        bias,
        out,
        n_rows,
        n_columns,
        depth,
        most_lost,
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
        COLUMNS=64,
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
walks through its own window; where planes are large enough, a program stays within one and reads the weights once.

For fp32 two small kernels turn the image and the weight to channels-last fp16 numbers first, scaled by powers of two and with
a border around the image, so that the loop needs no conditions and reads whole lines. On a GPU eager mode computes fp32
convolutions as TF32 products by default, and fp16 keeps as many digits as TF32: one product of rounded numbers is tried there,
and three products of two parts, which are as accurate as fp32. The gate judges by the baseline's own error. Images with
elements of very different size, of which fp16 would lose too much, go by a second kernel that reads them as they are. Which
tile is fastest, a race says; where the library is faster, nothing is kept. On an H200 seven of nine fp32 convolutions of
KernelBench became 1.2 to 7.0 times as fast as in eager mode, those transposed in 3-D most; one gained 1.04, and one had no
memory for it. Small ones may lose: a call launches six kernels.

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
