"""Rewritten texts called as no workload calls them: at other ranks, sizes and dtypes, and on views."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from interpreted import interpreted
from kernelwright.macro.strategies import registry, torch_fuse_pointwise, torch_fuse_row_reduction
from kernelwright.macro.strategy import Strategy, ask
from kernelwright.values import Language
from micro.rewrite.fused_modules import FusedModule
from micro.rewrite.test_fused_numerics import rewritten

pytest.importorskip("triton")

Row = tuple[str, str, str, str, str]  # name, text, rewritten text, what is called, its arguments
_MODEL = ("Model(*get_init_inputs())", "get_inputs()")
_CALLS = {
    "triton.even-blocks": ("matmul", "[torch.randn(20, 96), torch.randn(96, 20)]"),
    "triton.group-programs": ("matmul", "[torch.randn(20, 96), torch.randn(96, 20)]"),
    "triton.online-reduction": ("softmax", "[torch.randn(8, 33)]"),
    "triton.several-rows": ("rms_norm", "[torch.randn(8, 33), torch.randn(33)]"),
    "triton.stream-loads": ("rms_norm", "[torch.randn(8, 33), torch.randn(33)]"),
    "triton.tune-launch": ("add", "[torch.randn(8, 33), torch.randn(8, 33)]"),
}
_LEFT_OUT = {"triton.autotune", "triton.retune"}  # they measure their configurations on a GPU
_ROUNDED = {"torch.fuse-convolution"}
_UNBATCHED = "raises RuntimeError: required rank 4 tensor to use channels_last format"
_MIXED = {"float16": "refuses", "float64": "refuses"}
_DOUBLE = {"float64, with the parameters": "refuses"}
_WHOLE = {"int": "refuses"}
_FLOAT_WITH_INT = "raises RuntimeError: expected m1 and m2 to have the same dtype, but got: float != int"
_MORE = {"one dimension more": "refuses"}
_TOLD = {
    "torch.fuse-pool": {"one dimension fewer": "refuses", "float64": "refuses"} | _DOUBLE | _WHOLE,
    "torch.fuse-narrow-product": {"one dimension more": "refuses", "one dimension fewer": "refuses"} | _DOUBLE,
    "torch.fuse-product": {"one dimension more": "refuses", "one dimension fewer": "refuses"} | _DOUBLE,
    "torch.fuse-scan": {"one dimension more": "refuses", "rows of nothing": "refuses", "float64": "refuses"}
    | _DOUBLE
    | _WHOLE,
    "torch.fuse-convolution": {"one dimension fewer": "refuses"} | _DOUBLE,
    "torch.channels-last": {"one dimension fewer": _UNBATCHED},
    "torch.fuse-pointwise": _DOUBLE,
    "torch.fuse-gather": {"one dimension more": "refuses", "one dimension fewer": "refuses"} | _DOUBLE | _WHOLE,
    "torch.fuse-reduction": {"one dimension fewer": "refuses", "float64": "refuses"} | _DOUBLE,
    "torch.fuse-row-reduction": _MIXED | _DOUBLE,
    "torch.reassociate.reduce-features": _MORE,
    "torch.reassociate.reduce-matmul": {"int": "raises RuntimeError: expected scalar type Int but found Long"},
    "torch.reassociate.reduce-rows": _MORE | {"one dimension fewer": "refuses"},
    "torch.reassociate.scale-operand": {"int": _FLOAT_WITH_INT},
    "torch.reassociate.single-element": _MORE,
}


def outcomes(rows: list[Row]) -> dict[str, dict[str, str]]:
    """For each row what becomes of each change: "agrees", "refuses", "the baseline raises", or what is wrong."""
    return json.loads(interpreted(Path(__file__).with_name("run_other_calls.py"), given=json.dumps(rows)))


def told(found: dict[str, str]) -> dict[str, str]:
    """The outcomes that are not as the baseline's."""
    return {change: outcome for change, outcome in found.items() if outcome not in ("agrees", "the baseline raises")}


def without_gpu(strategy: Strategy) -> str:
    """The rewritten example, without the rounding to TF32's digits that one for a GPU may have as eager mode has it there."""
    if strategy.id not in _ROUNDED:
        return strategy.example.after
    return rewritten(strategy, SimpleNamespace(name=strategy.id, text=strategy.example.before))[0][2]


def called(strategy: Strategy) -> tuple[str, str]:
    """What is called of an example, and its arguments: as its workload line says, or as its functions do."""
    if strategy.id in _CALLS:
        return _CALLS[strategy.id]
    line = re.search(r"^# workload: (\w+\(.*?\))\((.*)\)$", strategy.example.before, re.MULTILINE)
    return _MODEL if line is None else (line[1], f"[{line[2].replace('randn', 'torch.randn')}]")


def test_worked_examples_agree_with_their_baselines_or_refuse() -> None:
    strategies = [
        one
        for one in registry().values()
        if one.id not in _LEFT_OUT and one.intent is not ask and Language.CUDA not in one.languages
    ]
    rows = [(s.id, s.example.before, without_gpu(s), *called(s)) for s in strategies]
    found = {name: told(one) for name, one in outcomes(rows).items()}
    assert found == {s.id: _TOLD.get(s.id, {}) for s in strategies}


def test_a_fused_kernel_takes_other_ranks_where_the_text_counts_from_the_last_dimension() -> None:
    matrix, image = "torch.randn(6, 20)", "torch.randn(3, 6, 5, 7)"
    scale, bias = "self.w = nn.Parameter(torch.randn(6, 1))", "self.w = nn.Parameter(torch.randn(20))"
    rows, pointwise = torch_fuse_row_reduction.STRATEGY, torch_fuse_pointwise.STRATEGY
    more, fewer = "one dimension more", "one dimension fewer"
    table = [
        (rows, FusedModule("norm", "return torch.norm(x + 0.5, dim=-1)", matrix), set()),
        (rows, FusedModule("kept", "return (x * x).sum(-1, keepdim=True) + 1", matrix), set()),
        (rows, FusedModule("first", "return torch.norm(x + 0.5, dim=1)", matrix), {more}),
        (rows, FusedModule("module", "return self.n(x) * 2", matrix, "self.n = nn.Softmax(dim=-1)"), {more, fewer}),
        (rows, FusedModule("layer", "return self.n(x) * 2", matrix, "self.n = nn.LayerNorm(20)"), set()),
        (rows, FusedModule("middle", "return torch.softmax(x * 2, dim=-3)", image), set()),
        (rows, FusedModule("all", "return (x * x).mean()", matrix), set()),
        (rows, FusedModule("groups", "return self.n(x) * 2", image, "self.n = nn.GroupNorm(3, 6)"), set()),
        (pointwise, FusedModule("bias", "return torch.relu(x + self.w) * 2", matrix, bias), set()),
        (pointwise, FusedModule("scale", "return torch.relu(x * self.w) + 1", matrix, scale), {more, fewer}),
        (pointwise, FusedModule("view", "return torch.relu(x + 1).view(-1) * 2", matrix), set()),
    ]
    found = outcomes([(*rewritten(strategy, module)[0], *_MODEL) for strategy, module, _ in table])
    for (_, module, refused), one in zip(table, found.values(), strict=True):
        wrong = {change: words for change, words in told(one).items() if words != "refuses"}
        assert not wrong, module.name
        assert {change for change in (more, fewer) if one[change] == "refuses"} == refused, module.name
