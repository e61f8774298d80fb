"""A leaky ReLU of a leaky ReLU is one, with the product of the slopes."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_pointwise import merged_leaky_relu

_BEFORE = '''\
import torch
import torch.nn.functional as F
from torch import nn


class Leaky(nn.Module):
    """Two leaky ReLUs, one after the other."""

    def forward(self, x):
        return F.leaky_relu(F.leaky_relu(x, 0.5), 0.1)


# workload: Leaky()(randn(64, 1024))
'''

_AFTER = _BEFORE.replace(
    """\
        return F.leaky_relu(F.leaky_relu(x, 0.5), 0.1)
""",
    """\
        return F.leaky_relu(x, 0.5 * 0.1)
""",
)

STRATEGY = algebra(
    "merge-leaky-relu",
    "Merge nested leaky ReLUs",
    merged_leaky_relu,
    about="leaky ReLU of a leaky ReLU",
    why="A leaky ReLU keeps the sign, so one with the product of the slopes does the work of two.",
    doc="""\
`leaky_relu(leaky_relu(x, a), b)` becomes `leaky_relu(x, a * b)` for a literal slope a that is not negative.
""",
    instruction="Merge a leaky ReLU of a leaky ReLU into one with the product of the slopes.",
    example=Example(_BEFORE, _AFTER),
)
