"""A product with a diagonal matrix scales the rows or columns of the other one."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_matrix import diagonal_factor

_BEFORE = '''\
import torch
from torch import nn


class Weighted(nn.Module):
    """Each row of m, weighted by an entry of v."""

    def forward(self, v, m):
        return torch.diag(v) @ m


# workload: Weighted()(randn(512), randn(512, 256))
'''

_AFTER = _BEFORE.replace(
    """\
        return torch.diag(v) @ m
""",
    """\
        # A product with a diagonal matrix scales the rows or columns of the other one.
        return v[:, None] * m
""",
)

STRATEGY = algebra(
    "diagonal-factor",
    "Scale instead of multiplying by a diagonal matrix",
    diagonal_factor,
    about="product with a diagonal matrix",
    why="A product with a diagonal matrix multiplies by zeros; scaling rows or columns does not.",
    doc="""\
`diag(v) @ M` becomes `v[:, None] * M`, and `M @ diag(v)` becomes `M * v`.
""",
    instruction="Replace a product with a diagonal matrix by a scale of the rows or columns of the other one.",
    example=Example(_BEFORE, _AFTER),
)
