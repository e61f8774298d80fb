"""What an agent has written: one text, tried once, and only where it is an edit that may be tried."""

import asyncio
from pathlib import Path

import pytest

from kernelwright.coders import Attempt, Variant
from kernelwright.coders.given import Given, given
from kernelwright.languages.python import SUPPORT
from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Observation
from kernelwright.observer import silent
from kernelwright.steps import failed_step
from kernelwright.values import CPU, Action, Edits, Failure, FailureKind, Refusal, Region, apply, digest
from lsp.examples import SOFTMAX

ACTION = Action("triton.tune-launch", Region(5, 13, digest(SOFTMAX)))
CHANGED = SOFTMAX.replace("x / tl.sum(x, axis=0)", "x * (1.0 / tl.sum(x, axis=0))")
BLOCKS = """\
<<<<<<< SEARCH
    row = tl.program_id(0)
=======
    row = tl.program_id(axis=0)
>>>>>>> REPLACE
"""


def observed(text: str = SOFTMAX) -> Observation:
    (kernel,) = SUPPORT.kernels(SOFTMAX)
    return Observation(str(Path("softmax.py")), text, kernel, None, CPU)


def written(coder: Given) -> Variant:
    (variant,) = asyncio.run(coder.code(observed(), ACTION, (), silent, None))
    return variant


def test_the_text_is_the_only_variant_and_names_its_author() -> None:
    variant = written(Given(CHANGED, "agent:me", "a reciprocal"))
    assert (variant.text, variant.author, variant.refusal) == (CHANGED, "agent:me", None)
    assert variant.edits.summary == "a reciprocal"
    assert apply(variant.edits, SOFTMAX) == CHANGED


def test_an_edit_that_may_not_be_tried_is_a_refused_variant() -> None:
    variant = written(Given(f"import os\n{CHANGED}", "agent:me"))
    assert variant.refusal is not None
    assert variant.text == SOFTMAX
    assert variant.edits == Edits(digest(SOFTMAX), ())


def test_it_goes_on_only_before_the_first_attempt_and_refuses_no_strategy() -> None:
    coder = Given(CHANGED, "agent:me")
    step = failed_step(observed(), ACTION, Failure(FailureKind.CRASHED, "It crashed."))
    assert coder.goes_on(())
    assert not coder.goes_on((Attempt(written(coder), step),))
    assert [coder.refuses(strategy) for strategy in registry().values() if coder.refuses(strategy)] == []


def test_blocks_and_text_mean_a_text() -> None:
    assert given(observed(), None, BLOCKS) == SOFTMAX.replace("program_id(0)", "program_id(axis=0)")
    assert given(observed(), CHANGED, None) == CHANGED


def test_a_text_with_other_line_ends_gets_those_of_the_file() -> None:
    crlf = observed(SOFTMAX.replace("\n", "\r\n"))
    assert given(crlf, CHANGED, None) == CHANGED.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("text", "blocks", "reason"),
    [
        (None, None, "Give either `text`"),
        (CHANGED, BLOCKS, "Give either `text`"),
        (SOFTMAX, None, "the file as it stands"),
        (None, "no blocks", "no block that begins with"),
        ("x = (\n", None, "The text does not parse at line 1"),
        (f"{CHANGED}\nx = '\ud800'\n", None, "is not valid UTF-8"),
        (CHANGED + "# long\n" * 100_000, None, "is longer than 400,000 characters"),
        (CHANGED.replace("x * (", f"x * ({'-' * 100_000}"), None, "nested too deeply"),
    ],
)
def test_what_is_no_edit_is_refused(text: str | None, blocks: str | None, reason: str) -> None:
    answer = given(observed(), text, blocks)
    assert isinstance(answer, Refusal)
    assert reason in answer.reason


def test_a_file_that_does_not_parse_is_to_be_mended_first() -> None:
    answer = given(observed(f"{SOFTMAX}\nx = (\n"), CHANGED, None)
    assert isinstance(answer, Refusal)
    assert answer.reason.startswith("The file does not parse at line 24")
