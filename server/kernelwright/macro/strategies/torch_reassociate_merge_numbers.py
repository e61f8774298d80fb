"""Multiplications, or additions, of numbers in a row are one."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_pointwise import merged_numbers

_BEFORE = '''\
import torch
from torch import nn


class Rescaled(nn.Module):
    """An activation, scaled twice."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return torch.tanh(x) * self.scale / 3


# workload: Rescaled(2.0)(randn(64, 1024))
'''

_AFTER = _BEFORE.replace(
    """\
        return torch.tanh(x) * self.scale / 3
""",
    """\
        return torch.tanh(x) * (self.scale / 3)
""",
)

STRATEGY = algebra(
    "merge-numbers",
    "Merge operations with numbers",
    merged_numbers,
    about="run of multiplications or additions of numbers",
    why="Each multiplication or addition of a number is a pass over the tensor; merged they are one.",
    doc="""\
`x * a / b` and `x + a - b` become one operation with one number, and `-(-x)` becomes x.
""",
    instruction="""\
Merge multiplications, divisions or additions of numbers in a row into one, and drop double negations.""",
    example=Example(_BEFORE, _AFTER),
)
