"""Rewritten modules against eager mode, in Triton's interpreter: fp32, small and NaN inputs, fp16, odd sizes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest

from interpreted import interpreted
from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.strategies import torch_fuse_pointwise, torch_fuse_row_reduction
from kernelwright.macro.strategy import Strategy
from kernelwright.values import Refusal, apply
from kernelwright.values.opts import Backwards, Loop, Opt, Stages, Warps
from micro.rewrite.fused_modules import POINTWISE, REDUCTIONS, FusedModule
from micro.rewrite.observe import observe

pytest.importorskip("triton")


class Named(Protocol):
    """A file with a Model."""

    @property
    def name(self) -> str: ...

    @property
    def text(self) -> str: ...


def rewritten(strategy: Strategy, module: Named) -> list[tuple[str, str, str]]:
    """(name, baseline, rewritten) for each variant of the best action."""
    observation = observe(module.text)
    actions = strategy.find(observation)
    assert isinstance(actions, tuple), f"{module.name}: {actions}"
    variants = carried_out(strategy, observation, actions[0])
    assert isinstance(variants, tuple), f"{module.name}: {variants}"
    return [(f"{module.name}/{i}", module.text, apply(edits, module.text)) for i, edits in enumerate(variants)]


def problems(pairs: list[tuple[str, str, str]]) -> dict[str, str]:
    return json.loads(interpreted(Path(__file__).with_name("run_fused.py"), given=json.dumps(pairs)))


def test_pointwise_regions_compute_what_eager_mode_does() -> None:
    pairs = [pair for module in POINTWISE for pair in rewritten(torch_fuse_pointwise.STRATEGY, module)[:1]]
    assert problems(pairs) == {}


def test_row_regions_compute_what_eager_mode_does() -> None:
    pairs = [pair for module in REDUCTIONS for pair in rewritten(torch_fuse_row_reduction.STRATEGY, module)[:1]]
    assert problems(pairs) == {}


def test_every_variant_computes_the_same() -> None:
    small = [m for m in REDUCTIONS if m.name in ("row-0", "strip-0", "short-rows", "group-norm", "long-layer-norm")]
    pairs = [pair for module in small for pair in rewritten(torch_fuse_row_reduction.STRATEGY, module)[1:]]
    assert len(pairs) >= 10
    assert problems(pairs) == {}


@pytest.mark.parametrize(
    "opts",
    [(Loop(16), Warps(4), Backwards()), (Loop(32), Warps(4), Stages(3))],
    ids=["backwards", "stages"],
)
def test_rows_that_are_walked_in_steps(opts: tuple[Opt, ...]) -> None:
    """The tiles of long rows, on rows short enough for the interpreter."""
    names = {
        "row-0",
        "row-1",
        "row-5",
        "row-9",
        "row-14",
        "row-15",
        "row-17",
        "row-22",
        "layer-norm",
        "group-norm",
        "view-between",
    }
    modules = [module for module in REDUCTIONS if module.name in names]
    assert len(modules) == len(names)
    pairs = [(module.name, module.text, walked(module, opts)) for module in modules]
    assert problems([pair for pair in pairs if pair[2]]) == {}


def walked(module: FusedModule, opts: tuple[Opt, ...]) -> str:
    """The module rewritten with these Opts; "" where its rows are not passed over again, as `Backwards` asks for."""
    observation = observe(module.text)
    action = replace(torch_fuse_row_reduction.STRATEGY.find(observation)[0], opts=opts)
    variants = carried_out(torch_fuse_row_reduction.STRATEGY, observation, action)
    if isinstance(variants, Refusal) and Backwards() in opts:
        assert "not passed over again" in variants.reason
        return ""
    (edits,) = variants
    text = apply(edits, module.text)
    assert "in steps of BLOCK" in text
    return text


def test_a_wrong_kernel_is_noticed() -> None:
    """The comparison itself: a rewrite with one constant changed must be reported."""
    name, baseline, text = rewritten(torch_fuse_pointwise.STRATEGY, POINTWISE[0])[0]
    assert list(problems([(name, baseline, text.replace("0.25", "0.26", 1))])) != []
