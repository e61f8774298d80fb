"""A reduction of the single element that an earlier one left is dropped."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_identity import single_element

_BEFORE = '''\
import torch
from torch import nn


class Centred(nn.Module):
    """The sum of each row, and the mean of that one number."""

    def forward(self, x):
        total = x.sum(1, keepdim=True)
        return x - total.mean(1, keepdim=True)


# workload: Centred()(randn(64, 1024))
'''

_AFTER = _BEFORE.replace(
    """\
        return x - total.mean(1, keepdim=True)
""",
    """\
        if total.dim() != 2:
            raise ValueError("total must have 2 dimensions")
        return x - total
""",
)

STRATEGY = algebra(
    "single-element",
    "Drop reductions of a single element",
    single_element,
    about="reduction of a single element",
    why="The sum, mean, maximum or logsumexp of a single element is that element.",
    doc="""\
`sum`, `mean`, `max`, `min` and `logsumexp` over a dimension that an earlier reduction, a pool or a linear layer has left
with one element are dropped. That the dimension happens to have one element on the workload is not enough.
""",
    instruction="Drop reductions over a dimension that an earlier reduction has left with one element.",
    example=Example(_BEFORE, _AFTER),
)
