"""In which ways products of fp32 operands are made."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """One way, as accurate as fp32 arithmetic unless it is `rounded`: only where eager mode may round, or the user lets us.

    `described`: in words; `parts`: how many fp16 numbers each element of an operand is split into, for which operands
    have to be read as they are from fp32 tensors; `in_loop`: those of the larger operand as it is read.
    """

    described: str
    parts: int = 0
    in_loop: bool = False
    rounded: bool = False


# All without parts are values of `input_precision` of `tl.dot`.
PRECISIONS: Mapping[str, Way] = {
    "fp16x3": Way("three products of fp16 parts", parts=2),
    "fp16x3-in-loop": Way(
        "three products of fp16 parts, the larger operand split as it is read", parts=2, in_loop=True
    ),
    "fp16": Way("operands rounded to fp16", parts=1, rounded=True),
    "fp16-in-loop": Way("operands rounded to fp16, the larger one as it is read", parts=1, in_loop=True, rounded=True),
    "tf32x3": Way("tf32x3"),  # sums of three TF32 products
    "bf16x6": Way("bf16x6"),  # of six products of bfloat16 parts
    "tf32": Way("tf32", rounded=True),
}
