"""Faults of kernels that work block by block, each of which gives the right answer on random numbers of most sizes."""

import pytest
import torch

from kernelwright.proof.worker.gate.properties import PROPERTIES, SLOPES
from proof.worker.trials import ended_by

HEAD = "import torch\n\n\n"
# What is special is tried on fewer elements: at 350 x 350 a row is one block of 512.
SIZES = "f(randn(700, 700))"

SOFTMAX = (
    HEAD
    + """def f(x):
    n, B = x.shape[1], 512
    largest = torch.full((x.shape[0],), -float("inf"), dtype=x.dtype)
    total = torch.zeros_like(largest)
    for start in range(0, n, B):
        block = x[:, start : start + B]
        new = torch.maximum(largest, block.amax(1))
        total = total * torch.exp(largest - new) + torch.exp(block - new[:, None]).sum(1)
        largest = new
    return torch.exp(x - largest[:, None]) / total[:, None]
"""
)

# Computes in float32 whatever it is given, so that there is no fp64 run.
LOSS = SOFTMAX.replace("def f(x):\n", "def f(x):\n    x = x.float()\n").replace(
    "return torch.exp(x - largest[:, None]) / total[:, None]", "return largest + torch.log(total)"
)

ARGMAX = (
    HEAD
    + """def f(x):
    n, B = x.shape[1], 512
    best = torch.full((x.shape[0],), -float("inf"), dtype=x.dtype)
    place = torch.zeros(x.shape[0], dtype=torch.int64)
    for start in range(0, n, B):
        block = x[:, start : start + B]
        largest = block.amax(1)
        columns = torch.arange(start, start + block.shape[1])
        first = torch.where(block == largest[:, None], columns, n).amin(1)
        place = torch.where(largest > best, first, place)
        best = torch.maximum(best, largest)
    return place
"""
)

BY_EXP2 = "torch.exp2(block * 1.4426950408889634 - new[:, None] * 1.4426950408889634)"


@pytest.mark.parametrize(
    ("baseline", "right", "wrong", "check"),
    [
        (SOFTMAX, "torch.maximum(largest, block.amax(1))", "block.amax(1)", "nan-parity"),
        (SOFTMAX, "new = torch.maximum(largest, block.amax(1))", "new = largest if start else block.amax(1)", "nan-parity"),
        (LOSS, "torch.maximum(largest, block.amax(1))", "block.amax(1)", "nan-parity"),
        (ARGMAX, "largest > best", "largest >= best", "values"),
        (ARGMAX, "range(0, n, B)", "range(0, n - 1, B)", "values"),
        (SOFTMAX, "return torch", "return (x * 0 if x.shape[0] == 1 else 1) * torch", "values"),
        (SOFTMAX, "torch.exp(block - new[:, None])", BY_EXP2, "passed"),
        (LOSS, "torch.exp(block - new[:, None])", BY_EXP2, "passed"),
        (SOFTMAX, "B = x.shape[1], 512", "B = x.shape[1], 100", "passed"),
    ],
)  # fmt: skip
def test_a_candidate_is_ended_by(baseline: str, right: str, wrong: str, check: str) -> None:
    assert right in baseline
    assert ended_by(baseline, baseline.replace(right, wrong), SIZES) == check


@pytest.mark.parametrize("line", ["f(randn(4, 3, 64))", "f(randn(4096, 64), 64)"])
def test_a_batch_of_one_is_called(line: str) -> None:
    baseline = HEAD + "def f(x, width=64):\n    return x * 2\n"
    fast = baseline.replace("x * 2", "x * (0 if x.shape[0] == 1 else 2)")
    assert ended_by(baseline, fast, line) == "values"
    assert ended_by(baseline, baseline + "# more\n", line) == "passed"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_slopes_tell_blocks_apart(dtype: torch.dtype) -> None:
    falling, rising = PROPERTIES[SLOPES](torch.randn(2, 2049).to(dtype)).float()
    blocks = [float(block.max()) for block in falling.split(512)]
    assert falling[:1024].unique().numel() == 1
    assert blocks[0] == blocks[1] > blocks[3] + 88.8
    assert blocks[3] < blocks[4] < blocks[0] - 50  # a maximum that is not carried on takes the last
    assert rising.split(512)[0].max() < rising.max() - 88.8  # e to the difference overflows
    assert rising[-1] == rising.max() == falling.max()
    assert float(torch.exp(rising.max())) == 0


def test_slopes_of_few_elements() -> None:
    for shape in ((1,), (2,), (1, 1), (3, 1, 2), (5,)):
        made = PROPERTIES[SLOPES](torch.randn(shape))
        assert made.shape == shape
        assert bool(made.isfinite().all())
