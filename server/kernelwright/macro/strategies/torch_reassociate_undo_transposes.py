"""Transposes and permutations that together change nothing are dropped."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_matrix import undone_transposes

_BEFORE = '''\
import torch
from torch import nn


class Turned(nn.Module):
    """Twice the input, turned and turned back."""

    def forward(self, x):
        turned = x.permute(1, 2, 0)
        back = turned.permute(2, 0, 1)
        return back * 2


# workload: Turned()(randn(16, 32, 64))
'''

_AFTER = _BEFORE.replace(
    """\
        turned = x.permute(1, 2, 0)
        back = turned.permute(2, 0, 1)
""",
    """\
        back = x
""",
)

STRATEGY = algebra(
    "undo-transposes",
    "Drop transposes that undo each other",
    undone_transposes,
    about="run of transposes that undo each other",
    why="Transposes that undo each other are calls for nothing.",
    doc="""\
Transposes and permutations in a row that together leave every dimension where it was are dropped.
""",
    instruction="Drop transposes and permutations in a row that together leave every dimension where it was.",
    example=Example(_BEFORE, _AFTER),
)
