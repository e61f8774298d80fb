"""Rewritten modules against eager mode, in Triton's interpreter: fp32, small and NaN inputs, fp16, odd sizes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.macro.strategies import torch_fuse_pointwise, torch_fuse_row_reduction
from kernelwright.macro.strategy import Strategy
from kernelwright.values import apply
from micro.rewrite.fused_modules import POINTWISE, REDUCTIONS, FusedModule
from micro.rewrite.observe import observe

pytest.importorskip("triton")


def rewritten(strategy: Strategy, module: FusedModule) -> list[tuple[str, str, str]]:
    """(name, original, rewritten) for each variant of the best action."""
    observation = observe(module.text)
    actions = strategy.applies(observation)
    assert isinstance(actions, tuple), f"{module.name}: {actions}"
    variants = strategy.rewrite(observation, actions[0])
    assert isinstance(variants, tuple), f"{module.name}: {variants}"
    return [(f"{module.name}/{i}", module.text, apply(edits, module.text)) for i, edits in enumerate(variants)]


def problems(pairs: list[tuple[str, str, str]]) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(Path(__file__).with_name("run_fused.py"))],
        input=json.dumps(pairs),
        capture_output=True,
        text=True,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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


def test_a_wrong_kernel_is_noticed() -> None:
    """The comparison itself: a rewrite with one constant changed must be reported."""
    name, original, text = rewritten(torch_fuse_pointwise.STRATEGY, POINTWISE[0])[0]
    assert list(problems([(name, original, text.replace("0.25", "0.26", 1))])) != []
