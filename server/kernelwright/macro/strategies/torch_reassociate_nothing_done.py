"""Operations that change nothing are dropped."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_identity import nothing_done

_BEFORE = '''\
import torch
from torch import nn


class Kept(nn.Module):
    """An activation with a dropout that drops nothing."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.0)

    def forward(self, x):
        return self.drop(torch.exp(x))


# workload: Kept()(randn(64, 1024))
'''

_AFTER = _BEFORE.replace(
    """\
        return self.drop(torch.exp(x))
""",
    """\
        assert not (self.drop.training and self.drop.p)
        return torch.exp(x)
""",
)

STRATEGY = algebra(
    "nothing-done",
    "Drop operations that do nothing",
    nothing_done,
    about="operation that changes nothing",
    why="A factor of one, dropout that drops nothing or a cast to the same dtype is a pass or a call for nothing.",
    doc="""\
A factor or divisor of one, a subtracted zero, dropout with the literal probability 0, a cast to the same dtype and a second
`contiguous` are dropped. `x + 0` stays: it turns -0.0 into 0.0.
""",
    instruction="""\
Drop operations that change nothing: factors of one, dropout of probability 0, casts to the same dtype.""",
    example=Example(_BEFORE, _AFTER),
)
