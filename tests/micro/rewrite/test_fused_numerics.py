"""Rewritten modules against eager mode, in Triton's interpreter: fp32, small and NaN inputs, fp16, odd sizes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.strategies import torch_fuse_pointwise, torch_fuse_row_reduction
from kernelwright.macro.strategy import Strategy
from kernelwright.micro.rewrite.candidates import observed, row_region_of
from kernelwright.micro.rewrite.print_rows import print_rows, row_length
from kernelwright.micro.rewrite.regions import group_text
from kernelwright.micro.rewrite.tiles import Shape
from kernelwright.micro.rewrite.triton_printer import pointers
from kernelwright.values import apply
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


@pytest.mark.parametrize(
    "shape",
    [Shape("row", 16, 4, looped=True, backwards=True), Shape("row", 32, 4, looped=True, stages=3)],
    ids=lambda shape: shape.described,
)
def test_rows_that_are_walked_in_steps(shape: Shape) -> None:
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
    assert problems([(module.name, module.text, walked(module, shape)) for module in modules]) == {}


def walked(module: FusedModule, shape: Shape) -> str:
    """The module rewritten with one given tile."""
    observation = observe(module.text)
    source = observed(module.text, observation.graph)
    action = torch_fuse_row_reduction.STRATEGY.find(observation)[0]
    region = row_region_of(source, action)
    edit = region.edit
    groups, numbers = group_text(source.graph, region)
    program = region.program
    length = row_length(program, groups)
    printed = print_rows(program, "float32", ("row_kernel", "fused_rows"), shape, length, numbers, module.text)
    assert "in steps of BLOCK" in printed.definitions
    call = edit.call("fused_rows", pointers(program), [*program.scalars.values(), *numbers.values()])
    return apply(edit.with_call(call, printed.definitions, ("torch", "triton", "tl")), module.text)


def test_a_wrong_kernel_is_noticed() -> None:
    """The comparison itself: a rewrite with one constant changed must be reported."""
    name, baseline, text = rewritten(torch_fuse_pointwise.STRATEGY, POINTWISE[0])[0]
    assert list(problems([(name, baseline, text.replace("0.25", "0.26", 1))])) != []
