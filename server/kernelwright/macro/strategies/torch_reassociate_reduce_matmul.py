"""A sum or mean over rows or columns of a matrix product is the product of its reduced factors."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_linear import reduced_matmul
from kernelwright.micro.rewrite.algebra_near import blocked_reduction

_BEFORE = '''\
import torch
from torch import nn


class Similarity(nn.Module):
    """How similar each row of x is to all rows of y together."""

    def forward(self, x, y):
        similar = x @ y.transpose(-2, -1)
        return similar.sum(dim=-1)


# workload: Similarity()(randn(4, 16, 8), randn(4, 16, 8))
'''

_AFTER = _BEFORE.replace(
    """\
        similar = x @ y.transpose(-2, -1)
        return similar.sum(dim=-1)
""",
    """\
        similar = y.transpose(-2, -1)
        # The sum over rows or columns of a product is taken of the factors, which are smaller.
        return (x @ similar.sum(-1, keepdim=True)).squeeze(-1)
""",
)

STRATEGY = algebra(
    "reduce-matmul",
    "Reduce the factors of a matrix product, not the product",
    reduced_matmul,
    about="reduction over the rows or columns of a matrix product",
    why="The sum over rows or columns of a product is the product of the summed factors, which are smaller.",
    doc="""\
The sum or mean over the rows, the columns or both of the product of two computed matrices, batched or not, is taken of
the factors first: the left one for rows, the right one for columns.
""",
    instruction="""\
Take a sum or mean over rows or columns of a matrix product of the factors first, with keepdim, and multiply what is left.""",
    example=Example(_BEFORE, _AFTER),
    near=blocked_reduction,
)
