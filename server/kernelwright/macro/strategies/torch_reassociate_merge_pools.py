"""A pool over the tiles of a pool is one pool over larger tiles."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_pools import pooled_pool

_BEFORE = '''\
import torch
from torch import nn


class Pooled(nn.Module):
    """The maxima of tiles of maxima of tiles."""

    def __init__(self):
        super().__init__()
        self.first = nn.MaxPool2d(2)
        self.second = nn.MaxPool2d(3)

    def forward(self, x):
        return self.second(self.first(x))


# workload: Pooled()(randn(8, 16, 48, 48))
'''

_AFTER = _BEFORE.replace(
    """\
        return self.second(self.first(x))
""",
    """\
        return torch.nn.functional.max_pool2d(x, self.first.kernel_size * self.second.kernel_size)
""",
)

STRATEGY = algebra(
    "merge-pools",
    "Merge a pool of a pool",
    pooled_pool,
    about="pool over the tiles of a pool",
    why="Tiles of tiles are larger tiles, and one pool writes no result in between.",
    doc="""\
Two max pools, or two mean pools, over tiles that adjoin become one over the product of their tiles. Refused where tiles
overlap, are padded or leave gaps.
""",
    instruction="Merge two pools of one kind over adjoining tiles into one over the product of their tiles.",
    example=Example(_BEFORE, _AFTER),
)
