"""A mean pool over the features of a linear layer is a linear layer with averaged weights."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_averaged import averaged_features

_BEFORE = '''\
import torch
from torch import nn


class Grouped(nn.Module):
    """The mean of each four features of a linear layer."""

    def __init__(self, inputs, features):
        super().__init__()
        self.linear = nn.Linear(inputs, features)
        self.pool = nn.AvgPool1d(4)

    def forward(self, x):
        features = self.linear(x)
        return self.pool(features.unsqueeze(1)).squeeze(1)


# workload: Grouped(256, 1024)(randn(64, 256))
'''

_AFTER = _BEFORE.replace(
    """\
        features = self.linear(x)
        return self.pool(features.unsqueeze(1)).squeeze(1)
""",
    """\
        # A mean over groups of features is taken of the weights that make them: fewer features to compute.
        tile = self.pool.kernel_size[0]
        groups = self.linear.weight.shape[0] // tile
        weight = self.linear.weight[: groups * tile].unflatten(0, (groups, tile)).mean(1)
        bias = self.linear.bias[: groups * tile].unflatten(0, (groups, tile)).mean(1)
        return torch.nn.functional.linear(x, weight, bias)
""",
)

STRATEGY = algebra(
    "average-features",
    "Fold a mean pool into a linear layer",
    averaged_features,
    about="mean pool over the features of a linear layer",
    why="The mean over groups of features is a linear layer with averaged weights and fewer features.",
    doc="""\
A mean pool in one dimension over the features of a linear layer, opened and closed by `unsqueeze(1)` and `squeeze(1)`,
becomes a linear layer whose weight and bias are averaged over groups of features.
""",
    instruction="""\
Merge a mean pool over the features of a linear layer into it: average its weight and bias over groups of features.""",
    example=Example(_BEFORE, _AFTER),
)
