"""Launches of CUDA C++ as workload lines: sizes by the kernel's own numbers, and what a line cannot say."""

from collections.abc import Sequence

import pytest
import torch

from kernelwright.proof.worker.recording.launch_lines import Launch, Memory, line_of
from kernelwright.proof.worker.recording.written import Unsayable
from kernelwright.source.workload import evaluate

UNTOUCHED = torch.full((100,), 0xFF, dtype=torch.uint8).view(torch.float32)


def launch(grid: Sequence[int] = (1, 1, 1), block: Sequence[int] = (64, 1, 1), shared: int = 0, **given: object) -> str:
    tensors = {n: v for n, v in given.items() if isinstance(v, torch.Tensor)}
    read = {n: Memory(v, written=n.startswith("out")) for n, v in tensors.items()}
    return line_of(Launch("f", grid, block, shared, {**given, **read}))


@pytest.mark.parametrize(
    ("line", "written"),
    [
        (launch(x=torch.randn(1000), n=1000), "f<<<1, 64>>>(x=randn(n), n=1000)"),
        (launch((16, 1, 1), n=1000), "f<<<(n + 63) / 64, 64>>>(n=1000)"),
        (launch((1000, 1, 1), n=1000), "f<<<n, 64>>>(n=1000)"),
        (launch((4, 1, 1), n=1000), "f<<<(n + 255) / 256, 64>>>(n=1000)"),
        (launch((77, 1, 1), n=1000), "f<<<77, 64>>>(n=1000)"),
        (launch((3, 50, 1), (16, 8, 1), rows=50, k=3), "f<<<dim3(3, rows), dim3(16, 8)>>>(rows=50, k=3)"),
        (launch(x=torch.randn(600), a=20, b=30), "f<<<1, 64>>>(x=randn(a * b), a=20, b=30)"),
        (launch(x=torch.randn(400), a=20), "f<<<1, 64>>>(x=randn(a * a), a=20)"),
        (launch(shared=256, flag=True, scale=0.5), "f<<<1, 64, 256>>>(flag=True, scale=0.5)"),
        (launch(x=None, n=8), "f<<<1, 64>>>(x=None, n=8)"),
        (launch(out=UNTOUCHED), "f<<<1, 64>>>(out=out(25))"),
        (launch(out=torch.zeros(30), m=30), "f<<<1, 64>>>(out=inout(zeros(m)), m=30)"),
        (launch(x=torch.full((64,), 2.0), rows=64), "f<<<1, 64>>>(x=rand(rows), rows=64)"),
        (launch(x=torch.full((64,), -2.0, dtype=torch.float64)), "f<<<1, 64>>>(x=randn(64, dtype=float64))"),
        (launch(ids=torch.tensor([3, 1, 30], dtype=torch.int32)), "f<<<1, 64>>>(ids=tensor([3, 1, 30], dtype=int32))"),
        (
            launch(ids=torch.randint(0, 31, (200,), generator=torch.manual_seed(0)), rows=31),
            "f<<<1, 64>>>(ids=randint(0, rows, 200), rows=31)",
        ),
        (launch((31, 1, 1), zeros=31), "f<<<31, 64>>>(zeros=31)"),  # a generator's name stands for no size
    ],
)
def test_a_launch_is_written_with_its_sizes(line: str, written: str) -> None:
    assert line == written
    evaluate(line)


def test_what_no_line_can_say() -> None:
    with pytest.raises(Unsayable, match="x was never written"):
        launch(x=UNTOUCHED)
    both = torch.randn(100)
    with pytest.raises(Unsayable, match="a shares memory with b"):
        launch(a=both, b=both[50:])
