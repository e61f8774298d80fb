"""What of a model's answer is read as edits, and where they fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.macro.strategies import registry
from kernelwright.prompting.action import answer_of
from kernelwright.prompting.reply import DIVIDER, REPLACE, SEARCH, Block, applied, blocks_in
from kernelwright.values import Refusal

TEXT = """\
import torch


def double(x):
    y = x * 2
    return y


def triple(x):
    y = x * 3
    return y
"""


def block(search: str, replace: str) -> str:
    return "\n".join((SEARCH, *search.splitlines(), DIVIDER, *replace.splitlines(), REPLACE))


def edited(answer: str, text: str = TEXT, first_editable: int = 3) -> str | Refusal:
    blocks = blocks_in(answer)
    return blocks if isinstance(blocks, Refusal) else applied(blocks, text, first_editable)


@pytest.mark.parametrize(
    ("answer", "before", "after"),
    [
        (block("    y = x * 2", "    y = x + x"), "y = x * 2", "y = x + x"),
        (f"Twice is a sum.\n\n```\n{block('    y = x * 2', '    y = x + x')}\n```\nDone.", "y = x * 2", "y = x + x"),
        (block("    y = x * 2   ", "    y = x + x"), "y = x * 2", "y = x + x"),  # blanks at the end of a line
        (block("y = x * 2", "y = x + x"), "    y = x * 2", "    y = x + x"),  # indented less than the file
        (block("      y = x * 2\n", "      if x:\n        y = 1"), "    y = x * 2\n", "    if x:\n      y = 1\n"),
        (block("    y = x * 2\n    return y", "    return x"), "    y = x * 2\n    return y", "    return x"),
        (block("    y = x * 3\n    return y", ""), "    y = x * 3\n    return y\n", ""),
        (block("", "def half(x):\n    return x / 2"), "\n\ndef double", "\n\ndef half(x):\n    return x / 2\n\n\ndef double"),
    ],
)  # fmt: skip
def test_a_block_is_put_in_its_place(answer: str, before: str, after: str) -> None:
    assert edited(answer) == TEXT.replace(before, after, 1)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("The kernel is fine as it is.", f"has no block that begins with `{SEARCH}`"),
        (block("    y = x * 4", "    y = x + x"), "Block 1 searches for lines that are not in the file (from `y = x * 4` on)"),
        (block("    return y", "    return x"), "Block 1 fits 2 places (lines 6, 11)"),
        (block("    y = x * 2", "    y = x * 2"), "The answer changes nothing."),
        (f"{SEARCH}\n    y = x * 2\n{DIVIDER}\n    y = x", "the answer was cut off"),
        (f"{SEARCH}\n    y = x * 2\n{REPLACE}", f"`{REPLACE}` without"),
        (f"{SEARCH}\n{SEARCH}\n", "a second `<<<<<<< SEARCH` before its end"),
        (REPLACE, "without"),
        ("x" * 400_001, "longer than 400,000 characters"),
        (block("    y = x * 2\n      return y", "    pass"), "not in the file"),  # indented by different amounts
        ("\n".join([block("    y = x * 2", "    y = x + x")] * 65), "has 65 blocks; at most 64 are read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_a_sentence(answer: str, reason: str) -> None:
    refusal = edited(answer)
    assert isinstance(refusal, Refusal), refusal
    assert reason in refusal.reason
    assert refusal.reason.endswith((".", "stand."))


def test_all_blocks_are_searched_for_in_the_file_as_it_stands() -> None:
    answer = block("    y = x * 3", "    y = x * 2") + "\n" + block("    y = x * 2", "    y = x * 3")
    assert edited(answer) == TEXT.replace("* 2", "* _").replace("* 3", "* 2").replace("* _", "* 3")
    same = edited(block("    y = x * 2", "    y = 1") + "\n" + block("    y = x * 2\n    return y", "    return 1"))
    assert isinstance(same, Refusal)
    assert same.reason == "Blocks 1 and 2 search for the same lines: make them one."


def test_line_ends_stay_as_they_are() -> None:
    windows = TEXT.replace("\n", "\r\n")
    changed = edited(block("    y = x * 2", "    y = x\n    y += x"), windows)
    assert changed == TEXT.replace("y = x * 2", "y = x\n    y += x").replace("\n", "\r\n")


LINES = st.lists(st.text("ab =(", max_size=6).map(str.rstrip), max_size=12)


@given(LINES, LINES, LINES)
def test_lines_that_stand_once_are_replaced_and_nothing_else(
    before: list[str], old: list[str], after: list[str]
) -> None:
    marked = ["start", *old, "end"]  # stands once
    text = "\n".join([*before, *marked, *after])
    answer = block("\n".join(marked), "new")
    assert edited(answer, text) == "\n".join([*before, "new", *after])


@given(st.text())
def test_no_answer_raises(answer: str) -> None:
    assert isinstance(edited(answer), str | Refusal)


@pytest.mark.parametrize("strategy", registry().values(), ids=registry())
def test_every_example_is_told_as_an_answer_that_makes_it(strategy) -> None:
    blocks = blocks_in(answer_of(strategy.example))
    assert not isinstance(blocks, Refusal), blocks.reason
    assert applied(blocks, strategy.example.before, 0) == strategy.example.after


def test_a_block_is_a_value() -> None:
    assert blocks_in(block("a", "b")) == (Block(("a",), ("b",)),)
