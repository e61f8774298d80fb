"""Functions of a file that turn images and weights of convolutions into channels-last fp16 numbers, for products of these.

Each item of an image, and each line of a weight, is scaled by a power of two. Data of usual size need one pass: they are
scaled by 2**10 while their largest element is looked for. A second kernel makes the other items anew, so that the largest
element comes close to the largest fp16 number, and has nothing to do for usual ones. Elements that are too small beside it are
counted: of an item with many of them a window may hold nothing else, so that fp16 is not enough.
"""

from collections.abc import Mapping

from kernelwright.emit.splitting import SPLITS, Split

CHANNELS_LAST: Mapping[str, Split] = {
    "fp16x3": Split(
        "fp16_parts_channels_last",
        SPLITS["fp16x3"].parts,
        "The high and low fp16 parts of x",
        "Two fp16 parts of each element, scaled by a power of two; the low one times 2**11.",
    ),
    "fp16": Split(
        "rounded_channels_last",
        SPLITS["fp16"].parts,
        "The elements of x rounded to fp16",
        "Each element rounded to fp16, scaled by a power of two.",
    ),
}
"""How operands are split, for each way of making products that takes them channels last."""


def definitions(split: Split) -> str:
    """The function and its kernel.

    `function(x, groups, channels, borders)` takes x of shape (items, groups * channels of each, *places) and makes parts of
    shape (items, *places with the borders, groups * `channels`), zeros where x has nothing; what those of each item are to be
    multiplied by; and how many of its elements have lost digits.
    """
    return _CHANNELS_LAST.format(
        function=split.function,
        words=split.words,
        kernel_words=split.kernel_words,
        pointers="\n".join(f"    {part}_ptr," for part in split.parts),
        made="\n".join(f"            {part} = {line}" for part, line in split.parts.items()),
        stored="\n".join(f"            tl.store({part}_ptr + place, {part}, mask=mask)" for part in split.parts),
        allocated="\n".join(f"    {part} = x.new_empty(shape, dtype=torch.float16)" for part in split.parts),
        given="\n".join(f"            {part}," for part in split.parts),
        returned=", ".join(split.parts),
    )


_CHANNELS_LAST = '''@triton.jit
def {function}_kernel(
    x_ptr,
{pointers}
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
    """{kernel_words}"""
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
{made}
            place = (item * positions + position) * (groups * CHANNELS) + made
            mask = (position < positions) & (made < groups * CHANNELS)
{stored}
    if not AGAIN:
        tl.atomic_max(found_ptr + item, tl.max(tl.max(biggest, axis=1), axis=0))
    tl.atomic_add(found_ptr + (2 if AGAIN else 1) * n_items + item, tl.sum(tl.sum(lost, axis=1), axis=0))


def {function}(x, groups, channels, borders):
    """{words}, channels last, padded, their scales, and how many have lost digits."""
    size = (1, 1, *x.shape[2:])[-3:]
    sides = ((0, 0), (0, 0), *borders)[-3:]
    padded = [n + before + after for n, (before, after) in zip(size, sides)]
    shape = (x.shape[0], *padded[3 - len(borders) :], groups * channels)
{allocated}
    scale = x.new_empty(x.shape[0], dtype=torch.float32)
    found = x.new_zeros((3, x.shape[0]), dtype=torch.int32)
    block = min(triton.next_power_of_2(groups * channels), 16)
    positions = 2048 // block
    tiles = triton.cdiv(padded[0] * padded[1] * padded[2], positions)
    few = triton.cdiv(1024, max(x.shape[0], 1))
    for again, programs in ((False, tiles), (True, min(tiles, few))):
        {function}_kernel[programs, x.shape[0]](
            x,
{given}
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
    return {returned}, scale, found[2]'''
