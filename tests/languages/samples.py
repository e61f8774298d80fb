"""One small file for each language, and what the contract asks about it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """`text` has one kernel and, above it, one workload line that begins with `comment`."""

    text: str
    kernel: str
    entry: str
    comment: str
    broken: str  # `text` with an error on the line `broken_line`, from 0
    broken_line: int
    cast: str  # `text` with a cast to float32
    other: str  # `text` with another result


PYTHON = """\
import torch


# workload: scale(randn(8))
def scale(x):
    return x * 2.0
"""
TOY = """\
say "; workload: scale(zeros(1))"
; workload: scale(randn(8))
kernel scale(x)
  x * 2
end
"""

SAMPLES = {
    "python": Sample(
        PYTHON,
        "scale",
        "scale",
        "#",
        PYTHON.replace("(x):", "(x:"),
        4,
        PYTHON.replace("x *", "x.float() *"),
        PYTHON.replace("2.0", "3.0"),
    ),
    "toy": Sample(
        TOY,
        "scale",
        "scale",
        ";",
        TOY.replace("(x)\n", "(x\n"),
        2,
        TOY.replace("x *", "single(x) *"),
        TOY.replace("2", "3"),
    ),
}
