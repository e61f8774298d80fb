"""Reductions of channels-last tensors against eager mode, in Triton's interpreter: values, dtypes and strides."""

import pytest

from kernelwright.macro.strategies import torch_fuse_row_reduction
from kernelwright.values import Refusal
from micro.rewrite.fused_modules import FusedModule
from micro.rewrite.layout_modules import LAST, OVER_CHANNELS, OVER_POSITIONS
from micro.rewrite.observe import observe
from micro.rewrite.test_fused_numerics import problems, rewritten

pytest.importorskip("triton")


@pytest.mark.parametrize("modules", [OVER_CHANNELS, OVER_POSITIONS], ids=["channels", "positions"])
def test_the_kernel_computes_what_eager_mode_does(modules: list[FusedModule]) -> None:
    pairs = [rewritten(torch_fuse_row_reduction.STRATEGY, one)[0] for one in modules]
    assert all(".contiguous(memory_format=torch.channels_last" in new.split("class Model")[0] for _, _, new in pairs)
    assert problems(pairs) == {}


def test_every_variant_computes_the_same() -> None:
    names = ("channels-1", "channels-4", "positions-1", "positions-6")
    modules = [one for one in (*OVER_CHANNELS, *OVER_POSITIONS) if one.name in names]
    pairs = [pair for one in modules for pair in rewritten(torch_fuse_row_reduction.STRATEGY, one)[1:]]
    assert len(pairs) >= 12
    assert problems(pairs) == {}


def test_rows_along_one_dim_of_an_image() -> None:
    """Their elements lie apart, with all channels between them."""
    calls = ("torch.softmax(x, dim=3)", "F.layer_norm(x, (7,))", "x.mean(dim=2, keepdim=True)", "x.amax(3)")
    modules = [FusedModule(call, f"return {call} * 2", f"torch.randn(2, 6, 5, 7){LAST}") for call in calls]
    assert problems([pair for one in modules for pair in rewritten(torch_fuse_row_reduction.STRATEGY, one)]) == {}


def test_rows_that_do_not_lie_together_stay() -> None:
    text = FusedModule("apart", "return F.group_norm(x, 2) * 2", f"torch.randn(2, 6, 5, 7){LAST}").text
    assert isinstance(torch_fuse_row_reduction.STRATEGY.find(observe(text)), Refusal)
