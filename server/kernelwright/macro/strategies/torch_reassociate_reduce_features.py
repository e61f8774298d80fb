"""A sum or mean over the features of a linear layer is one product with the summed weights."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_linear import reduced_features
from kernelwright.micro.rewrite.algebra_near import blocked_reduction

_BEFORE = '''\
import torch
from torch import nn


class Score(nn.Module):
    """The scaled sum of the features of a linear layer: one number for each row of x."""

    def __init__(self, inputs, features, scale):
        super().__init__()
        self.linear = nn.Linear(inputs, features)
        self.scale = scale

    def forward(self, x):
        features = self.linear(x)
        scaled = features * self.scale
        return torch.sum(scaled, dim=1)


# workload: Score(512, 1024, 0.5)(randn(256, 512))
'''

_AFTER = _BEFORE.replace(
    """\
        features = self.linear(x)
        scaled = features * self.scale
        return torch.sum(scaled, dim=1)
""",
    """\
        if x.dim() != 2:
            raise ValueError("x must have 2 dimensions")
        # The sum over the features of a linear layer is one product with the sum of its weights.
        row = self.linear.weight.sum(0)
        return (x @ row + self.linear.bias.sum()) * self.scale
""",
)

STRATEGY = algebra(
    "reduce-features",
    "Sum the weights of a linear layer, not its features",
    reduced_features,
    about="reduction over the features of a linear layer",
    why="The sum over the features of a linear layer needs one product with one vector, not one with the whole weight.",
    doc="""\
The sum or mean over the features of a linear layer, or of a product with a matrix, becomes one product with the
summed or averaged weights. Scales and shifts by numbers or by one entry a feature in between are folded, and so are
reductions of the one element that is left.
""",
    instruction="""\
Replace a sum or mean over the features of a linear layer by one product with the sum or mean of its weights, computed
inside forward, and fold scalar scales and shifts in between.""",
    example=Example(_BEFORE, _AFTER),
    near=blocked_reduction,
)
