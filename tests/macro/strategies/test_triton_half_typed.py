"""Half-typed and shuffled files: the Triton strategies answer with a value, and never break what parses."""

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.strategies import (
    triton_autotune,
    triton_even_blocks,
    triton_group_programs,
    triton_online_reduction,
    triton_retune,
    triton_several_rows,
    triton_tune_launch,
)
from kernelwright.macro.strategy import Strategy
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.values import Language, Refusal, apply
from macro.triton_files import observe

STRATEGIES = tuple(
    one.STRATEGY
    for one in (
        triton_autotune,
        triton_even_blocks,
        triton_group_programs,
        triton_group_programs,
        triton_online_reduction,
        triton_retune,
        triton_several_rows,
        triton_tune_launch,
    )
)
MATMUL = (Path(__file__).parents[3] / "examples" / "triton_matmul.py").read_text()
SOURCES = (MATMUL, *(strategy.example.before for strategy in STRATEGIES))


@st.composite
def damaged(draw: st.DrawFn) -> str:
    lines = draw(st.sampled_from(SOURCES)).splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 3))):
        at, other = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
        kind = draw(st.sampled_from(["drop", "cut", "double", "swap"]))
        if kind == "drop" and len(lines) > 1:
            del lines[at]
        elif kind == "cut":
            lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))] + "\n"
        elif kind == "double":
            lines.insert(at, lines[other])
        else:
            lines[at], lines[other] = lines[other], lines[at]
    return "".join(lines)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.id)
@settings(max_examples=60, deadline=None)
@given(text=damaged())
def test_a_damaged_file_gets_a_value(strategy: Strategy, text: str) -> None:
    if not any(kernel.language is Language.TRITON for kernel in find_kernels(parse(text))):
        return
    observation = observe(text)
    actions = strategy.find(observation)
    if isinstance(actions, Refusal):
        assert actions.reason.endswith(".")
        return
    variants = carried_out(strategy, observation, actions[0])
    assert not isinstance(variants, Refusal)
    for variant in variants if _parses(text) else ():
        assert _parses(apply(variant, text))


def test_a_comment_left_of_the_loop_survives() -> None:
    before = triton_online_reduction.STRATEGY.example.before
    text = before.replace("        tl.store(", "# stored once\n        tl.store(")
    observation = observe(text)
    variants = carried_out(triton_online_reduction.STRATEGY, observation, triton_online_reduction.find(observation)[0])
    assert all("# stored once\n" in apply(variant, text) for variant in variants)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
