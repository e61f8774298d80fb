"""Scales and shifts after a convolution or linear layer move into its weight and bias."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_fold import folded_into_weights

_BEFORE = '''\
import torch
from torch import nn


class Scaled(nn.Module):
    """A convolution with a scale and a shift."""

    def __init__(self, channels, features, scale):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, 3)
        self.scale = scale
        self.shift = nn.Parameter(torch.zeros(features, 1, 1))

    def forward(self, x):
        features = self.conv(x)
        return features * self.scale + self.shift


# workload: Scaled(16, 32, 0.5)(randn(8, 16, 32, 32))
'''

_AFTER = _BEFORE.replace(
    """\
        features = self.conv(x)
        return features * self.scale + self.shift
""",
    """\
        # Scale and shift are applied to the few weights instead of the many outputs.
        weight = self.conv.weight * self.scale
        bias = self.conv.bias * self.scale + self.shift.flatten()
        return torch.nn.functional.conv2d(
            x, weight, bias, self.conv.stride, self.conv.padding, self.conv.dilation, self.conv.groups
        )
""",
)

STRATEGY = algebra(
    "fold-into-weights",
    "Fold scales and shifts into the weights",
    folded_into_weights,
    about="scale or shift after a convolution or linear layer",
    why="Scales and shifts applied to the few weights save a pass over the many outputs each.",
    doc="""\
Scales and shifts after a convolution or linear layer, by numbers or by one entry a channel, become a scaled weight and
bias. A linear layer on a matrix with a bias is scaled by `addmm` while it is written. Refused where the weights are
larger than the outputs that they would relieve.
""",
    instruction="""\
Fold scalar or per-channel scales and shifts after a convolution or linear layer into its weight and bias, computed inside
forward.""",
    example=Example(_BEFORE, _AFTER),
)
