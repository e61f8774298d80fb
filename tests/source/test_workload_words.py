"""The table of a workload line's words: every example reads, and no word is missing."""

import pytest

from kernelwright.source.workload import evaluate
from kernelwright.source.workload.generators import GENERATORS
from kernelwright.source.workload.words import WORDS, Word, page, word


@pytest.mark.parametrize("row", WORDS, ids=lambda row: row.name)
def test_an_example_is_a_workload_line_that_has_the_word(row: Word) -> None:
    assert evaluate(row.example).entry
    assert row.name in row.example or not row.name.isidentifier()


def test_every_word_has_a_row() -> None:
    assert {*GENERATORS, "out", "inout", "dtype", "layout", "strides", "requires_grad"} <= {row.name for row in WORDS}
    assert word("randn") is not None
    assert word("normal") is None


def test_the_page_is_a_table_for_each_group() -> None:
    assert page().count("| word | example | meaning |") == len({row.group for row in WORDS})
