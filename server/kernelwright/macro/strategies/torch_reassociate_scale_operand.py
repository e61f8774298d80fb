"""The scale of a matrix product is applied to its smaller operand."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_matrix import scaled_operand

_BEFORE = '''\
import torch
from torch import nn


class Attention(nn.Module):
    """Attention weights of scaled scores."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, queries, keys):
        scores = queries @ keys.transpose(-2, -1)
        scores = scores * self.scale
        return torch.softmax(scores, dim=-1)


# workload: Attention(0.125)(randn(8, 256, 64), randn(8, 256, 64))
'''

_AFTER = _BEFORE.replace(
    """\
        scores = queries @ keys.transpose(-2, -1)
        scores = scores * self.scale
""",
    """\
        scores = keys.transpose(-2, -1)
        # The scale is applied to an operand, which is smaller than the product.
        scaled = queries * self.scale
        scores = scaled @ scores
""",
)

STRATEGY = algebra(
    "scale-operand",
    "Scale the smaller operand of a product",
    scaled_operand,
    about="scale of a matrix product",
    why="A scale costs a pass over what it is applied to, and an operand may be much smaller than the product.",
    doc="""\
`(Q K) * s` becomes `(Q * s) K` for a number s, or `Q (K * s)` where K is the smaller one. Refused where both are as large
as the product.
""",
    instruction="Apply the scale of a matrix product to its smaller operand, before the product.",
    example=Example(_BEFORE, _AFTER),
)
