"""A mean over the rows that a linear layer made is the linear layer of the mean."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_linear import reduced_rows
from kernelwright.micro.rewrite.algebra_near import blocked_reduction

_BEFORE = '''\
import torch
from torch import nn


class Summary(nn.Module):
    """One vector for each sequence: the mean of its projected tokens."""

    def __init__(self, inputs, features):
        super().__init__()
        self.project = nn.Linear(inputs, features)

    def forward(self, x):
        tokens = self.project(x)
        return tokens.mean(dim=1)


# workload: Summary(256, 512)(randn(16, 128, 256))
'''

_AFTER = _BEFORE.replace(
    """\
        tokens = self.project(x)
        return tokens.mean(dim=1)
""",
    """\
        if x.dim() != 3:
            raise ValueError("x must have 3 dimensions")
        # A linear layer and a mean over its rows commute: the mean first leaves fewer rows to multiply.
        mean = x.mean(dim=1)
        return self.project(mean)
""",
)

STRATEGY = algebra(
    "reduce-rows",
    "Average the rows before a linear layer",
    reduced_rows,
    about="reduction over the rows that a linear layer made",
    why="A linear layer and a mean over its rows commute, and the mean first leaves fewer rows to multiply.",
    doc="""\
The sum or mean over any dimensions but the features of a linear layer becomes the linear layer of the mean; scales and
shifts in between follow it. A sum is the mean times the number of rows, so that the bias counts once a row.
""",
    instruction="""\
Take a mean over the rows of a linear layer's result of its input instead, and call the layer on that mean.""",
    example=Example(_BEFORE, _AFTER),
    near=blocked_reduction,
)
