"""Pointwise regions that read channels-last and write contiguous, against eager mode in Triton's interpreter."""

import pytest

from kernelwright.macro.strategies import torch_fuse_pointwise
from kernelwright.values import Refusal
from micro.rewrite.fused_modules import FusedModule
from micro.rewrite.observe import observe
from micro.rewrite.test_fused_numerics import problems, rewritten

pytest.importorskip("triton")

LAST = ".contiguous(memory_format=torch.channels_last)"
LAST_3D = ".contiguous(memory_format=torch.channels_last_3d)"


MODULES = [
    FusedModule(
        "bias",
        "return (torch.relu(x) + self.bias).contiguous()",
        f"torch.randn(2, 5, 3, 7){LAST}",
        "self.bias = nn.Parameter(torch.randn(5, 1, 1))",
    ),
    FusedModule("only one op", "y = torch.sigmoid(x)\nreturn y.contiguous()", f"torch.randn(3, 40, 5, 9){LAST}"),
    FusedModule(
        "residual and scale of each item",
        "x = F.gelu(x) * scale + other\nreturn x.contiguous()",
        f"torch.randn(2, 6, 3, 5){LAST}, torch.randn(2, 6, 1, 1), torch.randn(2, 6, 3, 5)",
        arguments="x, scale, other",
    ),
    FusedModule(
        "volume",
        "x = F.leaky_relu(x, 0.1) - self.shift\nx = x * 2\nreturn x.contiguous()",
        f"torch.randn(2, 3, 3, 5, 2){LAST_3D}",
        "self.shift = nn.Parameter(torch.randn(1, 3, 1, 1, 1))",
    ),
    FusedModule(
        "names of the kernel's own",
        "x = channel * mask + position\nreturn x.contiguous()",
        f"torch.randn(2, 9, 4, 4){LAST}, torch.randn(9, 1, 1), torch.randn(4)",
        arguments="channel, mask, position",
    ),
    FusedModule(
        "two channels-last tensors",
        "return torch.tanh(x * y).contiguous()",
        f"torch.randn(2, 130, 3, 3){LAST}, torch.randn(2, 130, 3, 3){LAST}",
        arguments="x, y",
    ),
]


def test_the_kernel_computes_what_eager_mode_does() -> None:
    pairs = [pair for one in MODULES for pair in rewritten(torch_fuse_pointwise.STRATEGY, one)]
    assert all("memory_format=torch.contiguous_format" in new for _, _, new in pairs)
    assert problems(pairs) == {}


@pytest.mark.parametrize(
    "forward",
    ["return x.relu() * 2", "return (x.relu() * 2).contiguous(memory_format=torch.channels_last)"],
)
def test_a_channels_last_result_stays_one(forward: str) -> None:
    pairs = rewritten(torch_fuse_pointwise.STRATEGY, FusedModule("last", forward, f"torch.randn(2, 5, 3, 7){LAST}"))
    assert not any("contiguous_format" in new for _, _, new in pairs)
    assert problems(pairs[:1]) == {}


def test_a_copy_alone_is_left_to_eager_mode() -> None:
    text = FusedModule("copy", "return x.contiguous()", f"torch.randn(2, 5, 3, 7){LAST}").text
    answer = torch_fuse_pointwise.STRATEGY.applies(observe(text))
    assert isinstance(answer, Refusal)
    assert "one kernel already" in answer.reason
