"""What two programs print, compared line by line."""

import pytest

from kernelwright.proof.worker.answers.printed import alike, difference, lines_of, unsteady


@pytest.mark.parametrize(
    ("base", "got", "same"),
    [
        ("sum = 3.14159", "sum = 3.14160", True),
        ("sum = 3.14159", "sum = 3.14190", False),
        ("sum = 3.14159", "sum =    3.14159  ", True),
        ("sum = 3.14159", "Sum = 3.14159", False),
        ("1234567 items", "1234568 items", False),
        ("1.234567e+06", "1.234568e+06", True),
        ("1.234567e+06", "1.236567e+06", False),
        ("100", "99.9999", True),
        ("100", "99.8", False),
        ("5.", "6.", False),
        ("x 0.1", "x 0.100001", True),
        ("-0.000", "0.000", True),
        ("nan", "-nan", True),
        ("nan", "1.0", False),
        ("inf", "inf", True),
        ("inf", "-inf", False),
        ("nanometres", "infinite", False),
        ("1024x1024", "1024x512", False),
        ("v1.2.3", "v1.2.4", False),
        ("  9.9999|", " 10.0000|", True),
        ("a b 1 2", "a b 12", False),
        ("PASSED", "FAILED", False),
        ("0x7f10", "0x7f20", False),
    ],
)
def test_two_lines(base: str, got: str, same: bool) -> None:
    assert alike(*lines_of(base), *lines_of(got)) is same


@pytest.mark.parametrize(
    ("base", "got", "double", "same"),
    [
        ("error 1.2e-07", "error 2.4e-07", "error 3.1e-16", True),
        ("error 1.2e-07", "error 9.6e-07", "error 3.1e-16", False),
        ("error 1.2e-07", "error 2.4e-07", "error 1.2e-07", False),
        ("sum 1.000500", "sum 1.000200", "sum 1.000300", True),
        ("sum 1.000500", "sum 1.000200", "sum 9.000300", False),
        ("sum 1.000500", "sum 1.000200", "total 1.000300", False),
    ],
)
def test_the_run_in_fp64_tells_the_errors_of_the_baseline(base: str, got: str, double: str, same: bool) -> None:
    assert alike(*lines_of(base), *lines_of(got), *lines_of(double)) is same


def test_the_first_difference_is_told() -> None:
    base = lines_of("a 1\nb 2\nc 3\n")
    assert difference(base, lines_of("a 1\nb 2\nc 3\n"), (), ()) is None
    assert difference(base, lines_of("a 1\nb 5\nc 4\n"), (), ()) == (
        1,
        "it prints `b 5`, where the baseline prints `b 2`",
    )
    assert difference(base, lines_of("a 1\nb 5\nc 4\n"), (), {1, 2}) is None
    assert difference(base, lines_of("a 1\nb 2\n"), (), {2}) == (2, "it prints 2 lines, where the baseline prints 3")
    assert difference(base, lines_of("a 1\n"), (), ()) == (1, "it prints 1 line, where the baseline prints 3")
    assert difference(base, lines_of("a 1\nb 2\nc 3\nd\n"), (), ()) == (
        3,
        "it prints `d` behind the 3 lines of the baseline",
    )


def test_lines_that_differ_between_runs() -> None:
    assert unsteady(lines_of("a 1\nit took 3.5 ms\n"), lines_of("a 1\nit took 4.5 ms\n")) == {1}
    assert unsteady(lines_of("a\n"), lines_of("a\nb\n")) is None
    assert lines_of("") == ()
