"""A function of its inverse is dropped, where the argument is in its domain."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_pointwise import undone

_BEFORE = '''\
import torch
from torch import nn


class Gate(nn.Module):
    """A sigmoid, by way of its square root."""

    def forward(self, x):
        y = torch.sqrt(torch.sigmoid(x))
        return y**2


# workload: Gate()(randn(64, 1024))
'''

_AFTER = _BEFORE.replace(
    """\
        y = torch.sqrt(torch.sigmoid(x))
        return y**2
""",
    """\
        y = torch.sigmoid(x)
        return y
""",
)

STRATEGY = algebra(
    "undo-function",
    "Drop functions that undo each other",
    undone,
    about="function that undoes another one",
    why="A function that undoes the one before it is two passes over the tensor for nothing.",
    doc="""\
`exp(log(x))` and `sqrt(x) ** 2` become x where x is known not to be negative; for negative x they are NaN, which stays.
""",
    instruction="Drop exp of log and the square of sqrt where their argument cannot be negative.",
    example=Example(_BEFORE, _AFTER),
)
