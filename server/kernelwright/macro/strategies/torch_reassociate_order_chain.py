"""A chain of matrix products is multiplied in the order that needs fewer operations."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_matrix import ordered_chain

_BEFORE = '''\
import torch
from torch import nn


class Applied(nn.Module):
    """The product of two matrices, applied to a vector."""

    def forward(self, a, b, v):
        return (a @ b) @ v


# workload: Applied()(randn(64, 16), randn(16, 64), randn(64))
'''

_AFTER = _BEFORE.replace(
    """\
        return (a @ b) @ v
""",
    """\
        # Multiplied in this order the product needs fewer operations.
        return a @ (b @ v)
""",
)

STRATEGY = algebra(
    "order-chain",
    "Reorder a chain of matrix products",
    ordered_chain,
    about="chain of matrix products that is cheaper in another order",
    why="Matrix products are associative, and one order of a chain may need far fewer operations than another.",
    doc="""\
(A B) C becomes A (B C), or the other way round, where that needs fewer operations: above all where the last factor is
a vector or a narrow matrix.
""",
    instruction="Multiply a chain of matrices in the order that needs the fewest operations.",
    example=Example(_BEFORE, _AFTER),
)
