"""Modules whose reductions become kernels by way of a Nest, also those that an older form would take; compared in a process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kernelwright.coders.fusing import nest_edits
from kernelwright.emit import folds
from kernelwright.emit.folds import Steps
from kernelwright.emit.steps import elements_are_neighbours
from kernelwright.micro.rewrite.candidates import observed
from kernelwright.micro.rewrite.nested import NestRegion, nest_region
from kernelwright.nest import Nest
from kernelwright.nest.levels import levels
from kernelwright.nest.stages import stages
from kernelwright.place.source_map import SourceMap
from kernelwright.values import apply
from macro.torch_modules import observed as captured
from micro.rewrite import run_fused


def small(nest: Nest) -> tuple[Steps, ...]:
    """Tiles that take these short rows in several steps, whole and in parts, one and several beside each other."""
    both = stages(nest)
    nest = both.statistics if both else nest
    found = levels(nest)
    if not found.inner and not elements_are_neighbours(nest, found):
        return Steps(16, 8, 4, strip=True), Steps(16, 4, 4, 2, strip=True)
    if found.inner:
        return Steps(1, 8, 4, 4), Steps(4, 4, 4)
    return (Steps(1, 8, 4), Steps(4, 4, 4, 2)) if found.rows else (Steps(1, 8, 4), Steps(1, 8, 4, 4))


def kernels(
    monkeypatch: pytest.MonkeyPatch, text: str, tiles: Callable[[Nest], tuple[Steps, ...]] = small
) -> list[str]:
    """The text with all of its nodes in one kernel, for each of some small tiles."""
    graph = captured(text).graph
    source = observed(text, graph)
    assert isinstance(source, SourceMap), source
    region = nest_region(source, range(len(source.graph.nodes)))
    assert isinstance(region, NestRegion), region
    with monkeypatch.context() as patch:
        patch.setattr(folds, "tiles", tiles)
        return [apply(edits, text) for edits in nest_edits(source, region)]


def differences(made: dict[str, tuple[str, list[str]]]) -> dict[str, str]:
    """What is wrong with the rewritten texts, for each name and variant, in Triton's interpreter."""
    pairs = [
        [f"{name}, variant {i}", text, after] for name, (text, all_) in made.items() for i, after in enumerate(all_)
    ]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(Path(run_fused.__file__))],
        input=json.dumps(pairs),
        text=True,
        capture_output=True,
        check=False,
        env=os.environ | {"TRITON_INTERPRET": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
