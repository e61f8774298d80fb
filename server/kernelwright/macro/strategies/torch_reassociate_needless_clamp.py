"""A clamp of what already lies between its bounds is dropped."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_pointwise import needless_clamp

_BEFORE = '''\
import torch
from torch import nn


class Bounded(nn.Module):
    """A tanh that is clipped to where it lies."""

    def forward(self, x):
        y = torch.tanh(x)
        return torch.clamp(y, -1.0, 1.0)


# workload: Bounded()(randn(64, 1024))
'''

_AFTER = _BEFORE.replace(
    """\
        return torch.clamp(y, -1.0, 1.0)
""",
    """\
        return y
""",
)

STRATEGY = algebra(
    "needless-clamp",
    "Drop a clamp that changes nothing",
    needless_clamp,
    about="clamp of what already lies between its bounds",
    why="What already lies between the bounds of a clamp passes through it unchanged.",
    doc="""\
A clamp, relu or leaky relu is dropped where the function before it has no values outside the bounds: `tanh` lies within
-1 and 1, `sigmoid` within 0 and 1. Bounds must be literals.
""",
    instruction="Drop a clamp or relu of a function whose values already lie between the bounds.",
    example=Example(_BEFORE, _AFTER),
)
