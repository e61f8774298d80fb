"""The reader of the corpus, and that every case of it can be read."""

from pathlib import Path

import pytest
from corpus import Case, Malformed, cases, read

from cheats.outcome import as_expected, well_formed

HEAD = '"""Answers by a cache."""\n# workload: f(randn(4))\n# workload: f(randn(9))\n'
CELLS = "\n# %% baseline\nold = 1\n\n\n# %% candidate\n# marks: none of the head\nnew = 2\n"
BASE = HEAD + "# Any comment.\nold = 1\n"
REFUSED, CALLED = frozenset({"refused"}), ("f(randn(4))", "f(randn(9))")


def written(folder: Path, text: str) -> Path:
    path = folder / "name.py"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            HEAD + "# expected: values, clean-process\n# marks: gpu, alone\n# timeout: 20\n" + CELLS,
            Case(
                "name",
                "Answers by a cache.",
                "old = 1\n",
                "# marks: none of the head\nnew = 2\n",
                CALLED,
                frozenset({"values", "clean-process"}),
                frozenset({"gpu", "alone"}),
                20.0,
            ),
        ),
        (
            '"""Why."""\n# expected: refused\n' + CELLS + "\n# %% file torch.py\nequal = max\n",
            Case(
                "name",
                "Why.",
                "old = 1\n",
                "# marks: none of the head\nnew = 2\n",
                expected=REFUSED,
                neighbours={"torch.py": "equal = max\n"},
            ),
        ),
        (BASE, Case("name", "Answers by a cache.", BASE, workload=CALLED)),
    ],
)
def test_a_file_reads_as(text: str, expected: Case, tmp_path: Path) -> None:
    assert read(written(tmp_path, text)) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + CELLS, "write the field expected"),
        (HEAD + "# expects: values\n" + CELLS, "begin with a docstring"),
        ("# expected: values\n" + CELLS, "begin with a docstring"),
        (HEAD + "# expected: values\n# marks: fast\n" + CELLS, "marks are alone, gpu, promises-kernel"),
        (HEAD + "# expected: values\n" + CELLS + "\n# %% neighbour.py\n", "other cells are `# %% file NAME`"),
        (HEAD + "# expected: values\n\n# %% baseline\nold = 1\n", "one cell candidate"),
    ],
)
def test_a_file_that_is_no_case(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(Malformed, match=words):
        read(written(tmp_path, text))


@pytest.mark.parametrize(
    ("expected", "ends", "fine"),
    [
        ({"values", "runs"}, {"runs"}, True),
        ({"values"}, {"runs"}, False),
        ({"refused"}, {"crashed"}, True),
        ({"refused"}, {"passed", "no-gain"}, False),
        ({"refused", "no-gain"}, {"passed", "no-gain"}, True),
    ],
)
def test_what_is_as_expected(expected: set[str], ends: set[str], fine: bool) -> None:
    assert as_expected(Case("name", "", "", expected=frozenset(expected)), frozenset(ends)) is fine


@pytest.mark.parametrize(("folder", "least"), [("wrong", 141), ("unreal", 34), ("honest", 184)])
def test_the_reviewed_cases_are_whole(folder: str, least: int) -> None:
    found = cases(f"reviewed/{folder}")
    assert len(found) >= least
    assert all(well_formed(case) and case.expected for case in found)


def test_a_base_is_a_baseline_alone() -> None:
    assert all(case.why and case.baseline and not case.candidate for case in cases("bases"))
