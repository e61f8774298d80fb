"""Which calls the gate makes where programs are slow: few elements, and still rows that are longer than a block."""

import pytest

from kernelwright.proof.worker.cases import INTERPRETER_ELEMENTS, plan
from kernelwright.proof.worker.line_sizes import elements
from kernelwright.proof.worker.subject import case_call
from kernelwright.values import Case, Workload, WorkloadSource


def texts(*lines: str, most_elements: int | None = INTERPRETER_ELEMENTS) -> list[str]:
    workload = Workload(WorkloadSource.LINES, "f", tuple(Case(0, 0, line) for line in lines))
    return [v.label for v in plan(workload, seeds=2, first_seed=0, most_elements=most_elements)]


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


def test_every_line_is_made_small_and_none_is_left_out() -> None:
    found = texts("f(randn(8192, 8192))", "f(randn(127, 781))", "f(randn(3, 1))")
    assert {"f(randn(64, 64))", "f(randn(16, 390))", "f(randn(3, 1))", "f(randn(2, 8192))"} <= set(found)


def test_on_a_gpu_the_lines_stay_as_they_are() -> None:
    found = texts("f(randn(8192, 8192))", "f(randn(127, 781))", most_elements=None)
    assert found[:3] == ["f(randn(8192, 8192))", "f(randn(8192, 8192))", "f(randn(127, 781))"]
    assert "f(randn(2, 8192))" not in found
