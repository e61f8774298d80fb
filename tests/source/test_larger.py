"""Lines with more rows: what grows with what, and how it is written, so that it can be made smaller again."""

import pytest

from kernelwright.proof.worker.gate.line_sizes import shrunk
from kernelwright.source.workload.larger import Way, at_full_size, grown, is_small, ways

FLAT = "flat[(64,)](randn(64, 64), out(64, 64), 4096, BLOCK=64)"
ROWS = "rows[(64,)](randn(64, 64), randn(64), 64, 64, 1, 64, BLOCK=64)"
KERNEL = "@triton.jit\ndef rows(x, y, stride, rows, one, WIDTH: tl.constexpr, BLOCK: tl.constexpr):\n    pass\n"


@pytest.mark.parametrize(
    ("line", "way", "expected"),
    [
        (FLAT, Way((0, 1), 0, 0), "flat[(128,)](randn(128, 64), out(128, 64), 128 * 64, BLOCK=64)"),
        (FLAT, Way((0, 1), 0, 0, "blocks"), "flat[(-(-128 // 64),)](randn(128, 64), out(128, 64), 128 * 64, BLOCK=64)"),
        (ROWS, Way((0,), 1, 0), "rows[(128,)](randn(128, 64), randn(64), 64, 128, 1, 64, BLOCK=64)"),
        (ROWS, Way((0, 1), None, 0), "rows[(128,)](randn(128, 64), randn(128), 64, 64, 1, 64, BLOCK=64)"),
        ("few[(1, 2)](randn(8, 16))", Way((0,), None, 0, "all"), "few[(16, 2)](randn(16, 16))"),
        ("few[(1, 2)](randn(8, 16))", Way((0,), None, 1), "few[(1, -(-16 // 4))](randn(16, 16))"),
        (
            "f(randn(512, 64), arange(0, 512, 64), full((8,), 64), randn(9), 1e-06)",
            Way((0, 1, 2, 3)),
            "f(randn(16 * 64, 64), arange(0, 16 * 64, 64), full((16,), 64), randn(16 * 1 + 1), 1e-06)",
        ),
        ("f(randint(0, 8, 8, 4), randperm(8), ones(8))", Way((0, 1)), "f(randint(0, 8, 16, 4), randperm(16), ones(8))"),
        ("f(randn(8, 4), out(12, 4))", Way((0, 1)), None),
    ],
)  # fmt: skip
def test_what_grows_is_written_by_one_number(line: str, way: Way, expected: str | None) -> None:
    assert grown(line, way, 2) == expected


def test_a_line_that_is_grown_is_made_smaller_with_all_that_grew() -> None:
    ((whole, factor), (odd, _)) = at_full_size(FLAT, Way((0, 1), 0, 0))
    assert (whole, factor) == (
        "flat[(65536,)](randn(65536, 64), out(65536, 64), 65536 * 64, BLOCK=64)",
        1024,
    )
    assert not is_small(whole)
    assert shrunk(whole, 1 << 14) == "flat[(128,)](randn(128, 64), out(128, 64), 128 * 64, BLOCK=64)"
    assert shrunk(odd, 1 << 13) == "flat[(48,)](randn(48, 64), out(48, 64), 48 * 64, BLOCK=64)", "never as wide as long"


def test_the_rows_are_a_number_of_their_own() -> None:
    lines = [line for line, _ in at_full_size("f(randn(8, 2048), full((2048,), 1.0))", Way((0,)))]
    assert lines == ["f(randn(4096, 2048), full((2048,), 1.0))", "f(randn(3072, 2048), full((2048,), 1.0))"]


def test_no_further_axis_of_a_grid_has_more_programs_than_a_gpu_takes() -> None:
    line = "few[(1, 2)](randn(8, 16))"
    assert grown(line, Way((0,), None, 0, "all"), 1 << 13) is not None
    assert grown(line, Way((0,), None, 1, "all"), 1 << 13) is None


def test_the_likeliest_way_comes_first() -> None:
    found = list(ways(KERNEL, ROWS))
    assert found[0] == Way((0,), None, 0, "blocks"), "tensors of more than one dimension, for kernels that go by blocks"
    assert {way.number for way in found} == {None, 0, 1}, "all numbers but 1, which is no size, and constants"
    assert [way.number for way in found] == sorted((way.number for way in found), key=lambda n: -1 if n is None else n)
    assert list(ways("", "f(randn(8, 64), 0.5)")) == [Way((0,))]


@pytest.mark.parametrize(
    "line",
    [
        "f(randn(4096, 1024))",
        "f<<<64, 64>>>(n=64, x=randn(n))",
        "f(randn(8, 64, strides=(128, 1)))",
        "f(tensor([1, 2]), 64)",
        "f(randn(8",
    ],
)
def test_what_is_large_or_cannot_grow_has_no_way(line: str) -> None:
    assert list(ways("", line)) == []
