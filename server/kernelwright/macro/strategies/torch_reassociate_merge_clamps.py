"""A clamp inside another clamp is one clamp."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_pointwise import merged_clamps

_BEFORE = '''\
import torch
from torch import nn


class Clipped(nn.Module):
    """A ReLU that is clipped from above."""

    def forward(self, x):
        return torch.clamp(torch.relu(x), max=1.0)


# workload: Clipped()(randn(64, 1024))
'''

_AFTER = _BEFORE.replace(
    """\
        return torch.clamp(torch.relu(x), max=1.0)
""",
    """\
        return torch.clamp(x, min=0.0, max=1.0)
""",
)

STRATEGY = algebra(
    "merge-clamps",
    "Merge nested clamps",
    merged_clamps,
    about="clamp or relu inside another one",
    why="A clamp of a clamp is one clamp with the narrower bounds, and one pass over the tensor less.",
    doc="""\
A clamp, relu, relu6 or hardtanh inside another one becomes one clamp with the larger lower and the smaller upper bound.
Bounds that are variables are merged where they cannot cross.
""",
    instruction="Merge a clamp or relu inside another one into a single clamp with the narrower bounds.",
    example=Example(_BEFORE, _AFTER),
)
