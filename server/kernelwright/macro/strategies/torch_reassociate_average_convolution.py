"""A mean pool over the tiles of a convolution is a convolution with averaged weights and a stride."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_averaged import averaged_convolution

_BEFORE = '''\
import torch
from torch import nn


class Downsample(nn.Module):
    """A convolution and a mean over tiles."""

    def __init__(self, channels, features):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, 3, padding=1)
        self.pool = nn.AvgPool2d(4)

    def forward(self, x):
        return self.pool(self.conv(x))


# workload: Downsample(32, 64)(randn(8, 32, 56, 56))
'''

_AFTER = _BEFORE.replace(
    """\
        return self.pool(self.conv(x))
""",
    """\
        # A mean over tiles of a convolution is a convolution with the weight averaged over the shifts of a tile.
        tile = self.pool.kernel_size
        margin = tile - 1
        weight = torch.nn.functional.avg_pool2d(
            torch.nn.functional.pad(self.conv.weight, (margin, margin, margin, margin)), tile, stride=1
        )
        return torch.nn.functional.conv2d(
            x, weight, self.conv.bias, stride=tile, padding=self.conv.padding, groups=self.conv.groups
        )
""",
)

STRATEGY = algebra(
    "average-convolution",
    "Fold a mean pool into a convolution",
    averaged_convolution,
    about="mean pool over the tiles of a convolution",
    why="A mean over tiles of a convolution is a convolution with averaged weights that computes fewer outputs.",
    doc="""\
A mean pool whose tiles adjoin, after a convolution of stride and dilation 1, becomes one convolution: its weight is
averaged over the shifts of a tile, its stride is the tile. Applied where the larger kernel needs fewer operations than
the outputs that are no longer computed.
""",
    instruction="""\
Merge a mean pool over adjoining tiles of k into the convolution before it: pad the weight by k - 1, average it over k
shifts in each dimension, and convolve with stride k.""",
    example=Example(_BEFORE, _AFTER),
)
