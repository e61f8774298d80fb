"""What z3 says of right and wrong kernels, and that it is quiet where nothing is certain."""

import re
from pathlib import Path

import pytest

from indices.snippets import OPEN, OUTSIDE, RACING, RIGHT
from kernelwright.examining import told_of
from kernelwright.indices.asking import Solver
from kernelwright.indices.examine import examine
from kernelwright.indices.results import Checked, Indices
from kernelwright.languages.cuda.workloads import lines_in
from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Strategy

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "cuda").glob("*.cu"))


def found(text: str) -> Indices:
    return examine(text, [case.text for case in lines_in(text)], Solver(20))


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_access_out_of_bounds_is_told_with_a_witness(name: str) -> None:
    text, witness = OUTSIDE[name]
    remarks = [one for one in found(text).remarks if one.code == "cuda.out-of-bounds"]
    assert any(witness in one.message for one in remarks), [one.message for one in remarks]
    for one in remarks:
        assert re.match(
            r"With the sizes of the workload, block \S.*, thread \S.* (reads|writes|changes) \w", one.message
        )
        assert text.splitlines()[one.line][one.column : one.end_column].strip("*(")[:1].isidentifier()


@pytest.mark.parametrize("name", RACING)
def test_a_write_race_is_told_with_two_threads(name: str) -> None:
    text, witness = RACING[name]
    remarks = [one for one in found(text).remarks if one.code == "cuda.write-race"]
    assert any(witness in one.message for one in remarks), found(text)
    for one in remarks:
        places = re.search(
            r"(block .*?, thread \S+|block .*?, thread \(.*?\)) and (block .*?, thread [^ ]+.*?) both", one.message
        )
        assert places is not None
        assert places[1] != places[2]


@pytest.mark.parametrize("name", RIGHT)
def test_right_code_is_left_alone_and_checked(name: str) -> None:
    result = found(RIGHT[name])
    assert result.remarks == ()
    (kernel,) = result.kernels
    assert (kernel.reason, kernel.outside, kernel.open) == ("", 0, 0)
    assert kernel.inside > 0 or "atomic" in name


@pytest.mark.parametrize("name", OPEN)
def test_what_is_not_modelled_is_neither_told_nor_passed(name: str) -> None:
    result = found(OPEN[name])
    assert result.remarks == ()
    (kernel,) = result.kernels
    assert kernel.open or kernel.apart is None
    assert "not checked" in told_of(kernel)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_right(path: Path) -> None:
    result = found(path.read_text(encoding="utf-8"))
    assert result.remarks == ()
    assert result.kernels


CUDA = [one for one in registry().values() if one.id.startswith("cuda.")]


@pytest.mark.parametrize("strategy", CUDA, ids=lambda one: one.id)
def test_what_strategies_make_of_their_examples_is_right(strategy: Strategy) -> None:
    for text in (strategy.example.before, strategy.example.after):
        assert found(text).remarks == ()


def test_without_a_launch_nothing_is_said_of_a_kernel() -> None:
    (kernel,) = found("__global__ void kernel(float* y) { y[threadIdx.x + 99999] = 0.0f; }").kernels
    assert kernel == Checked("kernel", reason="no workload line launches it with a grid and a block that are known")


def test_a_launcher_that_may_take_another_way_proves_nothing() -> None:
    text = """
__global__ void kernel(float* y, int n) { y[blockIdx.x * 256 + threadIdx.x] = 0.0f; }
__global__ void other(float* y, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = 0.0f; }
// workload: run(y=out(n), n=1000)
void run(float* y, int n) {
    if (n % 256 == 0) kernel<<<n / 256 + 1, 256>>>(y, n);
    else other<<<(n + 255) / 256, 256>>>(y, n);
}
"""
    assert found(text).remarks == ()
    (remark,) = found(text.replace("n=1000", "n=1024")).remarks
    assert "writes y[1024] of 1024" in remark.message


def test_all_lines_of_a_workload_count() -> None:
    text = RIGHT["guarded"].replace("n=1000)", "n=1000)\n// workload: kernel<<<4, 256>>>(x=randn(7), y=out(n), n=1000)")
    (remark,) = found(text).remarks
    assert "reads x[7] of 7" in remark.message


def test_when_time_is_up_nothing_is_said() -> None:
    text, _ = OUTSIDE["a neighbour"]
    result = examine(text, [case.text for case in lines_in(text)], Solver(0))
    assert result.remarks == ()
    assert result.kernels[0].open > 0
