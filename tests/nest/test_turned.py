"""Pointwise regions that read one layout and write the other, against eager mode in Triton's interpreter."""

import pytest

from kernelwright.macro.strategies import torch_fuse_pointwise
from micro.rewrite.fused_modules import FusedModule
from micro.rewrite.layout_modules import LAST, TO_CONTIGUOUS, TO_LAST
from micro.rewrite.observe import observe
from micro.rewrite.test_fused_numerics import problems, rewritten

pytest.importorskip("triton")


def test_channels_last_becomes_contiguous() -> None:
    pairs = [pair for one in TO_CONTIGUOUS for pair in rewritten(torch_fuse_pointwise.STRATEGY, one)]
    assert all("ROWS: tl.constexpr" in new and "torch.contiguous_format" in new for _, _, new in pairs)
    assert problems(pairs) == {}


def test_contiguous_becomes_channels_last() -> None:
    pairs = [pair for one in TO_LAST for pair in rewritten(torch_fuse_pointwise.STRATEGY, one)]
    assert all("ROWS: tl.constexpr" in new and "memory_format=torch.channels_last" in new for _, _, new in pairs)
    assert problems(pairs) == {}


@pytest.mark.parametrize(
    "forward",
    ["return x.relu() * 2", "return (x.relu() * 2).contiguous(memory_format=torch.channels_last)"],
)
def test_a_channels_last_result_stays_one(forward: str) -> None:
    pairs = rewritten(torch_fuse_pointwise.STRATEGY, FusedModule("last", forward, f"torch.randn(2, 5, 3, 7){LAST}"))
    assert not any("contiguous_format" in new for _, _, new in pairs)
    assert problems(pairs[:1]) == {}


def test_a_copy_between_layouts_may_gain() -> None:
    copy = FusedModule("copy", "return x.contiguous()", f"torch.randn(2, 5, 3, 7){LAST}")
    actions = torch_fuse_pointwise.STRATEGY.find(observe(copy.text))
    assert isinstance(actions, tuple)
    assert actions[0].params["saved_bytes"] == 0
    assert actions[0].params["expected_gain"] > 0.02
