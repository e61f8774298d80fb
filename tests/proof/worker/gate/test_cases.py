"""Which calls the gate makes: few elements where programs are slow, and still rows that are longer than a block; one row."""

import pytest

from kernelwright.proof.worker.gate.cases import INTERPRETER_ELEMENTS, plan
from kernelwright.proof.worker.gate.line_sizes import (
    elements,
    one_row,
    shrunk,
    stretched,
    with_aligned_ends,
    with_long_rows,
    with_more_of_few,
)
from kernelwright.proof.worker.gate.properties import SLOPES
from kernelwright.proof.worker.subject import case_call
from kernelwright.values import Case, Workload, WorkloadSource


def texts(*lines: str, most_elements: int | None = INTERPRETER_ELEMENTS) -> list[str]:
    workload = Workload(WorkloadSource.LINES, "f", tuple(Case(0, 0, line) for line in lines))
    planned = plan(workload, seeds=2, first_seed=0, most_elements=most_elements)
    return [v.label for v in planned if v.data != SLOPES]  # which are on sizes of their own


@pytest.mark.parametrize(
    ("line", "first", "long"),
    [
        ("f(randn(8192, 8192))", "f(randn(64, 64))", "f(randn(2, 8192))"),
        ("f(randn(4096, 300))", "f(randn(16, 300))", "f(randn(2, 300))"),
        ("f(randn(8192, 1 << 13))", "f(randn(64, 64))", "f(randn(2, 8192))"),
        ("f(randn(512, 512), randn(512, 512))", "f(randn(64, 64), randn(64, 64))", "f(randn(2, 64), randn(64, 64))"),
        ("f(randn(1 << 20), randn(1 << 20))", "f(randn(4096), randn(4096))", None),
        ("f(randn(8, 8192), 3)", "f(randn(8, 1024), 3)", None),
    ],
)
def test_in_the_interpreter(line: str, first: str, long: str | None) -> None:
    found = texts(line)
    assert found[0] == first
    assert (long is None) or (long in found)
    assert all(elements(case_call(text)) <= 2 * INTERPRETER_ELEMENTS for text in found)
    assert len([text for text in found if text.startswith("f(randn(2, ")]) == (long is not None)


@pytest.mark.parametrize(
    ("line", "long"),
    [
        ("f(randint(0, 500, 8, 256), randn(500, 512))", "f(randint(0, 4, 8, 4), randn(4, 512))"),
        ("f(randn(2, 2, 512, 64), randn(2, 2, 512, 64))", "f(randn(2, 2, 512, 4), randn(2, 2, 512, 4))"),
        ("f(randn(8, 64, 64, 64))", None),  # there is nothing but the longest
        ("f(randint(0, 31, 8, 256), randn(32, 512))", None),  # would point behind the end
    ],
)
def test_the_longest_rows_of_what_begins_otherwise(line: str, long: str | None) -> None:
    assert with_long_rows(line, INTERPRETER_ELEMENTS) == ((long,) if long else ())


def test_every_line_is_made_small_and_none_is_left_out() -> None:
    found = texts("f(randn(8192, 8192))", "f(randn(127, 781))", "f(randn(3, 1))")
    assert {"f(randn(64, 64))", "f(randn(16, 390))", "f(randn(3, 1))", "f(randn(2, 8192))"} <= set(found)


def test_on_a_gpu_the_lines_stay_as_they_are() -> None:
    found = texts("f(randn(8192, 8192))", "f(randn(127, 781))", most_elements=None)
    assert found[:3] == ["f(randn(8192, 8192))", "f(randn(8192, 8192))", "f(randn(127, 781))"]
    assert "f(randn(2, 8192))" not in found


def special(*lines: str, most_elements: int | None = None) -> list[tuple[str, str, float]]:
    workload = Workload(WorkloadSource.LINES, "f", tuple(Case(0, 0, line) for line in lines))
    planned = plan(workload, seeds=2, first_seed=0, most_elements=most_elements)
    return [(v.label, v.data, v.scale) for v in planned if v.data or v.scale == 100.0]


def test_special_data_come_at_the_workloads_own_size_too() -> None:
    line = "f(randn(2048, 300), zeros(300))"
    kinds = ["constants varied", "NaN planted", "large offset"]
    assert [data for label, data, _ in special(line) if label == line and data] == kinds
    small = "f(randn(64, 300), zeros(300))"
    assert [data for label, data, _ in special(small) if label == small].count("NaN planted") == 1
    in_the_interpreter = [data for _, data, _ in special(line, most_elements=INTERPRETER_ELEMENTS)]
    assert in_the_interpreter.count("NaN planted") == 1
    by_functions = plan(Workload(WorkloadSource.KERNELBENCH, "Model"), seeds=2, first_seed=0)
    assert [v.data for v in by_functions if v.rows is None and (v.data or v.scale == 100.0)] == ["", *kinds]


def test_special_data_come_in_every_combination_of_dtypes() -> None:
    lines = ("f(randn(512, 300))", "f(randn(64, 300))", "f(randn(2048, 300, dtype=float16))")
    reduced = "f(randn(512, 300, dtype=float16))"
    kinds = [("constants varied", 1.0), ("NaN planted", 1.0), ("large offset", 1.0)]
    assert [(data, scale) for label, data, scale in special(*lines) if label == reduced] == [("", 100.0), *kinds]
    assert not [label for label, _, _ in special(*lines) if label == lines[1]]


@pytest.mark.parametrize("most_elements", [INTERPRETER_ELEMENTS, None])
def test_one_call_sums_up_next_to_nothing(most_elements: int | None) -> None:
    lines = ("f(randn(2048, 3000), randint(0, 3000, 2048))", "f(randn(64, 100), 3)")
    assert texts(*lines, most_elements=most_elements).count("f(randn(1, 46), randint(0, 46, 1))") == 1
    assert texts("f(randn(3000), 2)", most_elements=most_elements).count("f(randn(46), 2)") == 1


def test_a_line_of_few_elements_is_not_called_once_more() -> None:
    assert texts("f(randn(16, 16))").count("f(randn(16, 16))") == texts("f(randn(4, 4))").count("f(randn(4, 4))")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("Norm(64)(randn(4096, 64))",), "Norm(64)(randn(1, 64))"),
        (("f(randn(512, 64), randn(512, 64), 512)",), "f(randn(1, 64), randn(512, 64), 512)"),
        (("f(randn(512, 64), randint(0, 64, 512))",), "f(randn(1, 64), randint(0, 64, 1))"),
        (("Norm(8, 32)(randn(8, 32, 28, 28))",), "Norm(8, 32)(randn(1, 32, 28, 28))"),
        (("f(randn(2, 8, 64, 16), randn(2, 8, 64, 16))",), "f(randn(1, 8, 64, 16), randn(1, 8, 64, 16))"),
        (("f(randn(512, 512), randn(512, 512))",), "f(randn(1, 512), randn(512, 512))"),
        (("f(randn(512, 64), randint(0, 512, 9))",), None),  # rows that are looked up
        (("f(randint(0, 9, 8, 2), rand(9, 64))", "f(randint(0, 9, 3, 7), rand(9, 4))"), "f(randint(0, 9, 1, 2), rand(9, 64))"),
        # What may be the taps of a filter is left alone, as is what is no size of its own.
        (("filter(randn(3, 3), randn(512, 512))", "filter(randn(3, 3), randn(77, 19))"), None),
        (("f(randn(1, 64), randn(1, 64))",), None),
        (("f(randn(1 << 20))",), None),
        (("f(n=4096, x=randn(n, 3))",), None),
        (("f(randn(16 * 8, 64))",), None),
    ],
)  # fmt: skip
def test_one_row(lines: tuple[str, ...], expected: str | None) -> None:
    assert one_row(lines) == expected


@pytest.mark.parametrize(
    ("line", "kept", "left_out"),
    [
        (
            "f(randn(512, 1000), randint(0, 1000, 512))",
            ["f(randn(512, 7), randint(0, 7, 512))", "f(randn(7, 1000), randint(0, 1000, 7))"],
            ["f(randn(512, 7), randint(0, 1000, 512))"],
        ),
        (
            "Embedding(5000, 64)(randint(0, 5000, 8))",
            ["Embedding(7, 64)(randint(0, 7, 8))"],
            ["Embedding(7, 64)(randint(0, 5000, 8))"],
        ),
        (
            "f(randn(1000, 64), randint(0, 999, 32))",
            ["f(randn(1001, 64), randint(0, 999, 32))"],
            ["f(randn(7, 64), randint(0, 999, 32))"],
        ),
        ("f(randint(-128, 128, 512, 300))", ["f(randint(-128, 128, 7, 300))"], []),
    ],
)  # fmt: skip
def test_an_index_stays_within_what_it_points_into(line: str, kept: list[str], left_out: list[str]) -> None:
    found = texts(line, most_elements=None)
    assert set(kept) <= set(found)
    assert not set(left_out) & set(found)


@pytest.mark.parametrize(
    ("line", "longest", "expected"),
    [
        ("f(randn(512, 1000))", False, "f(randn(528, 1008))"),
        ("f(randn(512, 1000))", True, "f(randn(512, 1008))"),
        ("f(randn(2, 8192), randn(8192), 3)", False, "f(randn(2, 8208), randn(8208), 3)"),
        ("Norm(64)(randn(128, 64))", False, "Norm(80)(randn(144, 80))"),
        ("f(randn(512, 64), n=300)", False, "f(randn(528, 80), n=300)"),  # no size of a tensor
        ("f(randint(0, 128, 64, dtype=int8))", False, "f(randint(0, 128, 80, dtype=int8))"),
        ("f(randn(60, 64), randint(0, 60, 64))", False, "f(randn(48, 80), randint(0, 48, 80))"),
        ("f(randn(60, 64), randint(0, 59, 64))", False, None),  # would point behind the end
        ("f(randn(16, 48))", False, None),
        ("f(randn(7, 3))", True, None),
    ],
)
def test_tensors_end_within_a_block_where_an_address_is_aligned(line: str, longest: bool, expected: str | None) -> None:
    assert with_aligned_ends(line, longest=longest) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("f(randn(1, 8, 64), randn(1, 8, 64))", ["f(randn(2, 8, 64), randn(2, 8, 64))", "f(randn(1, 9, 64), randn(1, 9, 64))"]),
        ("f(randn(2, 4, 64), randn(2, 1, 64))", ["f(randn(3, 4, 64), randn(3, 1, 64))"]),
        ("f(randn(2, 4, 64), randn(2, 1, 64))", ["f(randn(2, 4, 64), randn(2, 2, 64))"]),
        ("f(randn(8, 32, 14, 14))", ["f(randn(8, 32, 15, 14))", "f(randn(8, 32, 14, 15))"]),
        ("f(zeros(1), 1)", ["f(zeros(2), 1)"]),
    ],
)  # fmt: skip
def test_a_small_size_is_one_more(line: str, expected: list[str]) -> None:
    assert set(expected) <= set(with_more_of_few(line))


@pytest.mark.parametrize(
    "line",
    [
        "f(randn(64, 64))",
        "f(randint(0, 2, 64), 3)",
        "f(randn(64, 32), randn(32, 16, 3, 3))",
        "f(x=randn(64, 64), filter=randn(2 * R + 1, 2 * R + 1), R=3)",
    ],
)
def test_neither_a_window_nor_a_number_is_one_more(line: str) -> None:
    assert not list(with_more_of_few(line))


def test_aligned_ends_are_for_machines_that_align() -> None:
    line = "f(randn(4096, 8192))"
    assert {"f(randn(48, 8208))", "f(randn(2, 8208))"} <= set(texts(line, most_elements=None))
    assert not any("8208" in text for text in texts(line))


def test_a_range_beyond_32_bits_is_no_size() -> None:
    line = "f(randint(0, 2147483648, 64, 48, dtype=int32))"
    assert all("2147483648" in text for text in texts(line, most_elements=None) if "randint(0, 3" not in text)


def test_every_size_is_tried_one_more() -> None:
    line = "f(randn(16, 512, 64), randn(16, 512, 64))"
    more = {line.replace(old, new) for old, new in (("16", "17"), ("512", "513"), ("64", "65"))}
    assert more <= set(texts(line, most_elements=None))


def test_the_programs_of_a_launch_are_not_changed_alone() -> None:
    line = "scale_kernel[(64,)](randn(64, 32), out(64, 32), 64 * 32, BLOCK=32)"
    called = [text for text in texts(line) if text != line]
    assert "scale_kernel[(64,)](randn(7, 32), out(64, 32), 64 * 32, BLOCK=32)" in called, "which most refuse"
    assert not [one for one in called if one.replace("[(7,)]", "[(64,)]") == line]


@pytest.mark.parametrize("most_elements", [INTERPRETER_ELEMENTS, None])
def test_each_line_that_draws_integers_is_called_with_their_ends(most_elements: int | None) -> None:
    lines = ("f(randn(4, 9), randint(0, 9, 4))", "f(randn(8, 9))", "f(randn(3, 9), randint(-1, 9, 3))")
    workload = Workload(WorkloadSource.LINES, "f", tuple(Case(0, 0, line) for line in lines))
    planned = plan(workload, seeds=2, first_seed=0, most_elements=most_elements)
    assert [v.label for v in planned if v.ends] == [lines[0], lines[2]]
    assert all(v.derived and "ends of their range" in v.described for v in planned if v.ends)


@pytest.mark.parametrize(
    ("lines", "singles"),
    [
        (("Norm(64)(randn(4096, 64))",), ["Norm(64)(randn(1, 64))"]),
        (("f(randn(512, 64))",), ["f(randn(1, 64))"]),  # as a size at its boundary
        (
            ("f(randn(8, 64, 64))", "f(randn(1, 17, 30))"),
            ["f(randn(1, 17, 30))", "f(randn(1, 64, 64))"],
        ),  # one is its own
    ],
)
def test_one_row_is_called_once(lines: tuple[str, ...], singles: list[str]) -> None:
    few = {shrunk(text, 1) for text in singles}
    assert [text for text in texts(*lines, most_elements=None) if "(randn(1, " in text and text not in few] == singles


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("f(randn(2, 2000))",), "f(randn(2, 2049))"),
        (("f(randn(2, 512), randn(512))",), "f(randn(2, 513), randn(513))"),
        (("f(randn(16, 16, 16))", "f(randn(2, 77, 16))"), "f(randn(2, 129, 16))"),
        (("f(randn(9000, 12))",), "f(randn(9000, 12))"),  # no block is as short
        (("f(randn(9000))",), None),
        (("f(randn(300, 300))",), None),  # none is small enough
    ],
)
def test_the_longest_line_has_one_element_in_its_last_block(lines: tuple[str, ...], expected: str | None) -> None:
    most = 1 << 17 if "9000" in lines[0] else 1 << 14
    assert stretched(lines, most) == expected
