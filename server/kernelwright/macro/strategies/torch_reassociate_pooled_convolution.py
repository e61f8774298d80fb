"""A mean over the positions of a convolution only needs sums of its input."""

from kernelwright.macro.algebra import algebra
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.algebra_near import blocked_reduction
from kernelwright.micro.rewrite.algebra_pooled import pooled_convolution

_BEFORE = '''\
import torch
from torch import nn


class Head(nn.Module):
    """A convolution of which only the mean over positions is used."""

    def __init__(self, channels, features):
        super().__init__()
        self.conv = nn.ConvTranspose2d(channels, features, 3)

    def forward(self, x):
        return self.conv(x).mean(dim=(2, 3))


# workload: Head(32, 64)(randn(8, 32, 24, 24))
'''

_AFTER = _BEFORE.replace(
    """\
        return self.conv(x).mean(dim=(2, 3))
""",
    """\
        if x.dim() != 4:
            raise ValueError("x must have 4 dimensions")
        # The mean over all positions needs only sums of the input.
        conv = self.conv
        height = (x.shape[2] - 1) * conv.stride[0] + conv.dilation[0] * (conv.kernel_size[0] - 1) + conv.output_padding[0] + 1
        width = (x.shape[3] - 1) * conv.stride[1] + conv.dilation[1] * (conv.kernel_size[1] - 1) + conv.output_padding[1] + 1
        return x.sum((2, 3)) @ self.conv.weight.sum((2, 3)) / (height * width) + self.conv.bias
""",
)

STRATEGY = algebra(
    "pooled-convolution",
    "Take the mean of a convolution of its input",
    pooled_convolution,
    about="reduction over the positions of a convolution",
    why="The mean over the positions of a convolution needs only sums of its input, one for each tap of the kernel.",
    doc="""\
The sum or mean over all positions of a convolution, transposed or not, becomes a product of its weights with sums of the
input under masks of zeros and ones, one for each tap; over some of the positions, a smaller convolution of such sums.
Where every tap sees every input no mask is needed. A convolution that never reads some of its input is refused: a NaN
there would count in the sums.
""",
    instruction="""\
Take a mean over the positions of a convolution of sums of its input instead: for each tap of the kernel the sum of those
inputs that it reads for some output, multiplied with the tap's weights.""",
    example=Example(_BEFORE, _AFTER),
    near=blocked_reduction,
)
