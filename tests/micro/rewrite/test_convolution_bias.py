"""The bias of a convolution joins the kernel behind it: equal to eager mode, and left alone where that could differ."""

from dataclasses import dataclass

import pytest

from kernelwright.macro.strategies import torch_fuse_pointwise, torch_fuse_row_reduction
from kernelwright.macro.strategy import Strategy
from micro.rewrite.fused_modules import FusedModule
from micro.rewrite.layout_modules import BIASED, BIASED_ROWS
from micro.rewrite.test_fused_numerics import problems, rewritten

pytest.importorskip("triton")

POINTWISE, ROWS = torch_fuse_pointwise.STRATEGY, torch_fuse_row_reduction.STRATEGY
CONV = "self.conv = nn.Conv2d(4, 4, 3, padding=1)"
GROUPED = "self.conv = nn.Conv2d(4, 4, 3, padding=1, groups=2)"
PICTURE = "torch.randn(2, 4, 5, 7)"


def body(text: str) -> str:
    """The forward of the module, without indentation."""
    lines = text.split("def forward", 1)[1].split("\n\n\n")[0].splitlines()[1:]
    return "\n".join(line.removeprefix("        ") for line in lines)


@pytest.mark.parametrize(("strategy", "modules"), [(POINTWISE, BIASED), (ROWS, BIASED_ROWS)], ids=["pointwise", "rows"])
def test_the_kernel_adds_the_bias(strategy: Strategy, modules: list[FusedModule]) -> None:
    pairs = [rewritten(strategy, one)[0] for one in modules]
    assert [name for name, _, new in pairs if "bias_ptr" not in new] == []
    assert problems(pairs) == {}


CALL = """\
F.conv2d(
    x,
    self.conv.weight,
    None,
    self.conv.stride,
    self.conv.padding,
    self.conv.dilation,
    self.conv.groups,
)
"""


@pytest.mark.parametrize(
    ("forward", "expected"),
    [
        ("x = self.conv(x)\nreturn torch.tanh(x)", f"x = {CALL}return fused_bias_tanh(x, self.conv.bias)"),
        ("return torch.tanh(self.conv(x))", f"conv_out = {CALL}return fused_bias_tanh(conv_out, self.conv.bias)"),
        (
            "y = self.conv(x).tanh()\nreturn y",
            f"conv_out = {CALL}y = fused_bias_tanh(conv_out, self.conv.bias)\nreturn y",
        ),
    ],
)
def test_the_call_without_the_bias(forward: str, expected: str) -> None:
    _, _, new = rewritten(POINTWISE, FusedModule("layer", forward, PICTURE, CONV))[0]
    assert body(new) == expected


READ_ELSEWHERE = [
    FusedModule(forward, forward, PICTURE, setup)
    for forward, setup in (
        ("x = self.conv(x)\nif x.shape[0] > 9:\n    return x\nreturn torch.tanh(x) * 2", CONV),
        ("x = self.conv(x)\ny = torch.tanh(x) * 2\nif len(y) > 9:\n    y = y + x\nreturn y", CONV),
        ("x = self.conv(x)\nif len(x) < 9:\n    x = torch.tanh(x) * 2\nreturn x", CONV),
        ("y = self.conv(x)\nz = y\nreturn torch.tanh(z) * 2", CONV),
        ("self.last = y = self.conv(x)\nreturn torch.tanh(y) * 2", CONV),
        ("x = self.conv(x)\nreturn torch.tanh(x) * 2", GROUPED),
        ("x = self.conv(x)\nreturn torch.tanh(x) * 2", CONV.replace("3,", "3, padding_mode='circular',")),
        ("x = self.conv(x)\nreturn torch.tanh(x) * 2 + x.mean()", CONV),
    )
]


def test_a_result_that_others_may_read_keeps_its_bias() -> None:
    pairs = [rewritten(POINTWISE, one)[0] for one in READ_ELSEWHERE]
    assert [name for name, _, new in pairs if "self.conv(x)" not in body(new)] == []
    assert problems(pairs) == {}


HELPER = """\
def twice(x, weight, bias):
    return F.conv2d(x * 2, weight, bias)


class Model"""


@dataclass(frozen=True)
class File:
    text: str
    name: str = "file"


def test_a_convolution_in_another_function_keeps_its_bias() -> None:
    forward = "x = twice(x, self.conv.weight, self.conv.bias)\nreturn torch.tanh(x) * 2"
    module = FusedModule("", forward, PICTURE, CONV)
    pair = rewritten(POINTWISE, File(module.text.replace("class Model", HELPER)))[0]
    assert "bias_ptr" not in pair[2]
    assert problems([pair]) == {}
