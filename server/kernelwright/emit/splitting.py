"""Functions of a file that split the lines of a matrix into scaled fp16 numbers, for products of these."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Split:
    """How operands are split: the function of the file that does it, and what it makes of each, with the lines for that."""

    function: str
    parts: Mapping[str, str]
    words: str  # of the function
    kernel_words: str

    @property
    def definitions(self) -> str:
        """The function and its kernel."""
        return _SPLITTING.format(
            function=self.function,
            words=self.words,
            kernel_words=self.kernel_words,
            pointers="\n".join(f"    {part}_ptr," for part in self.parts),
            made="\n".join(f"        {part} = {line}" for part, line in self.parts.items()),
            stored="\n".join(
                f"        tl.store({part}_ptr + place * padded + inner, {part}, mask=mask)" for part in self.parts
            ),
            allocated="\n".join(
                f"    {part} = x.new_empty((batches * n_lines, padded), dtype=torch.float16)" for part in self.parts
            ),
            given="\n".join(f"        {part}," for part in self.parts),
            returned=", ".join(self.parts),
        )


_PARTS = Split(
    "fp16_parts",
    {
        "high": "(x * scale).to(tl.float16)",
        "low": "((x * scale - high.to(tl.float32)) * 2.0**11).to(tl.float16)",
    },
    "The high and low fp16 parts of the lines of x, padded along them, and their scales.",
    "Two fp16 parts of each line, scaled by a power of two; the low one times 2**11.",
)

_ROUNDED = Split(
    "rounded_to_fp16",
    {"rounded": "(x * scale).to(tl.float16)"},
    "The lines of x rounded to fp16, padded along them, and their scales.",
    "Each line rounded to fp16, scaled by a power of two.",
)

SPLITS: Mapping[str, Split] = {
    "fp16x3": _PARTS,
    "fp16x3-in-loop": _PARTS,
    "fp16": _ROUNDED,
    "fp16-in-loop": _ROUNDED,
}


_SPLITTING = '''@triton.jit
def {function}_kernel(
    x_ptr,
{pointers}
    scale_ptr,
    n_lines,
    depth,
    padded,
    batch_stride,
    line_stride,
    inner_stride,
    LINES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """{kernel_words}"""
    batch = tl.program_id(1).to(tl.int64)
    lines = tl.program_id(0).to(tl.int64) * LINES + tl.arange(0, LINES)[:, None]
    x_ptr += batch * batch_stride + lines * line_stride
    x = tl.zeros([LINES, BLOCK], dtype=tl.float32)
    largest = tl.zeros([LINES, 1], dtype=tl.int32)
    for start in range(0, depth, BLOCK):
        inner = start + tl.arange(0, BLOCK)[None, :]
        mask = (lines < n_lines) & (inner < depth)
        x = tl.load(x_ptr + inner * inner_stride, mask=mask, other=0.0).to(tl.float32)
        bits = x.to(tl.int32, bitcast=True) & 0x7FFFFFFF
        bits = tl.where(bits < 0x7F800000, bits, 0)
        largest = tl.maximum(largest, tl.max(bits, axis=1, keep_dims=True))
    exponent = tl.maximum(largest >> 23, 15)
    scale = ((268 - exponent) << 23).to(tl.float32, bitcast=True)
    inverse = ((exponent - 14) << 23).to(tl.float32, bitcast=True)
    place = batch * n_lines + lines
    tl.store(scale_ptr + place, inverse, mask=lines < n_lines)
    for start in range(0, padded, BLOCK):
        inner = start + tl.arange(0, BLOCK)[None, :]
        if depth > BLOCK:
            mask = (lines < n_lines) & (inner < depth)
            x = tl.load(x_ptr + inner * inner_stride, mask=mask, other=0.0).to(tl.float32)
{made}
        mask = (lines < n_lines) & (inner < padded)
{stored}


def {function}(x, batches, n_lines, depth, padded, strides):
    """{words}"""
{allocated}
    scale = x.new_empty(batches * n_lines, dtype=torch.float32)
    # A line that fits into a block is read once; lines that lie side by side are read together.
    adjacent = strides[2] == 1
    block = min(triton.next_power_of_2(padded), 16384 if adjacent else 4096)
    lines = max(4096 // block, 1) if adjacent else max(16384 // block, 8)
    grid = (triton.cdiv(n_lines, lines), batches)
    {function}_kernel[grid](
        x,
{given}
        scale,
        n_lines,
        depth,
        padded,
        *strides,
        LINES=lines,
        BLOCK=block,
        num_warps=8,
    )
    return {returned}, scale'''
