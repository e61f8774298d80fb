"""In which ways products of fp32 operands are made."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """One way, as accurate as fp32 arithmetic unless it is `rounded`: that is only for what eager mode may round itself.

    `described`: in words; `whole`: only from operands that are read as they are from fp32 tensors.
    """

    described: str
    whole: bool = False
    rounded: bool = False


# All but the first are values of `input_precision` of `tl.dot`.
PRECISIONS: Mapping[str, Way] = {
    "fp16x3": Way("three products of fp16 parts", whole=True),
    "tf32x3": Way("tf32x3"),  # sums of three TF32 products
    "bf16x6": Way("bf16x6"),  # of six products of bfloat16 parts
    "tf32": Way("tf32", rounded=True),
}
