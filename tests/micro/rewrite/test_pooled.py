"""Pools with the operations around them as one kernel: equal to eager mode, and left alone where tiles do not adjoin."""

import pytest

from kernelwright.macro.strategies import torch_fuse_pointwise
from kernelwright.values import Refusal
from micro.rewrite.fused_modules import FusedModule
from micro.rewrite.layout_modules import POOLED
from micro.rewrite.observe import observe
from micro.rewrite.test_fused_numerics import problems, rewritten

pytest.importorskip("triton")

POINTWISE = torch_fuse_pointwise.STRATEGY


def test_the_kernel_computes_what_eager_mode_does() -> None:
    pairs = [rewritten(POINTWISE, one)[0] for one in POOLED]
    assert [name for name, _, new in pairs if "in tl.static_range(" not in new] == []
    assert problems(pairs) == {}


def test_every_variant_computes_the_same() -> None:
    modules = [one for one in POOLED if one.name in ("before and after", "channels-last to contiguous")]
    pairs = [pair for one in modules for pair in rewritten(POINTWISE, one)[1:]]
    assert len(pairs) == 4
    assert problems(pairs) == {}


@pytest.mark.parametrize(
    "pool",
    [
        "F.max_pool2d(x, 3, stride=2)",
        "F.max_pool2d(x, 2, padding=1)",
        "F.max_pool2d(x, 2, ceil_mode=True)",
        "F.avg_pool2d(x, (2, 1))",
        "F.avg_pool2d(x, 2, divisor_override=3)",
        "F.max_pool2d(x, 2, return_indices=True)[0]",
        "F.avg_pool2d(x, 9)",
    ],
)
def test_other_pools_stay(pool: str) -> None:
    text = FusedModule("pool", f"x = torch.relu(x)\nx = {pool}\nreturn torch.tanh(x)", "torch.randn(2, 3, 9, 9)").text
    assert isinstance(POINTWISE.find(observe(text)), Refusal)


def test_a_full_tensor_beside_the_pool_is_read_by_its_kernel() -> None:
    module = FusedModule(
        "residual",
        "x = torch.tanh(torch.relu(x) + other)\nreturn F.max_pool2d(x, 2) * 2",
        "torch.randn(2, 3, 8, 9), torch.randn(2, 3, 8, 9)",
        arguments="x, other",
    )
    actions = POINTWISE.find(observe(module.text))
    assert [action.region.label for action in actions] == ["relu, add, tanh, max_pool2d, mul", "relu, add, tanh"]
    pair = rewritten(POINTWISE, module)[0]
    assert problems([pair]) == {}
