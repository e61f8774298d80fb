"""Where a fused call goes in code that runs more than once, and what it computes there."""

import pytest

from macro.torch_modules import refusal, rewritten
from micro.rewrite.test_fused_numerics import problems
from place.repeated import PLACED, REFUSED

pytest.importorskip("triton")


@pytest.mark.parametrize("name", PLACED)
def test_the_code_that_is_written(name: str) -> None:
    strategy, text, expected = PLACED[name]
    assert expected in rewritten(strategy, text)[0]


def test_every_placement_computes_what_the_baseline_does() -> None:
    pairs = [(name, text, rewritten(strategy, text)[0]) for name, (strategy, text, _) in PLACED.items()]
    assert problems(pairs) == {}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(name: str) -> None:
    strategy, text, reason = REFUSED[name]
    assert reason in refusal(strategy, text).reason
