"""The share of the roof that a measurement reaches, as the lens and the hover say it."""

import dataclasses

import pytest

from kernelwright.macro.strategy import Observation
from kernelwright.roof import sentence, short
from kernelwright.settings import DEFAULTS
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import find_workload
from kernelwright.values import Device, Measurement, Roof, Timing, Workload

TEXT = """\
import torch, triton
import triton.language as tl
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)
# workload: run(randn(1024))
def run(x):
    y = torch.empty_like(x)
    kernel[(1,)](x, y, x.numel(), BLOCK=1024)
    return y
"""
DEVICE = Device("cuda", "a GPU", bandwidth=1e12, peak_flops={"float32": 1e13})
TIMING = Timing(2.0, 2.0, 2.0, 9)
MEASURED = Measurement("new", "old", "a GPU", TIMING, TIMING, TIMING, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, floor_ms=0.5)


@pytest.mark.parametrize(
    ("roof", "said"),
    [
        (None, "memory-bound, 25 % of roof"),
        (Roof(10**9, 10**9, "float32", 1e12, 1e13), "memory-bound, 50 % of roof"),
        (Roof(10**9, 10**11, "float32", 1e12, 1e13), "memory-bound"),
        (Roof(10**9, 10**9, "float32", 0.0, 0.0), "memory-bound"),
    ],
)
def test_the_share_of_the_roof(roof: Roof | None, said: str) -> None:
    assert short(observed(), DEFAULTS, dataclasses.replace(MEASURED, roof=roof)) == said


def observed() -> Observation:
    (kernel,) = (found for found in find_kernels(parse(TEXT)) if found.name == "kernel")
    workload = find_workload(TEXT, kernel.entry)
    assert isinstance(workload, Workload)
    return Observation("k.py", TEXT, kernel, workload, DEVICE)


@pytest.mark.parametrize(("measured", "told"), [(None, True), ("a GPU", True), ("cpu", False)])
def test_the_least_time_of_one_device_is_not_told_beside_the_time_of_another(measured: str | None, told: bool) -> None:
    measurement = dataclasses.replace(MEASURED, device=measured) if measured else None
    said = sentence(observed(), DEFAULTS, measurement)
    assert ("at least" in said) is told
    assert ("of the roof" in said) is (told and measured is not None)
    assert bool(short(observed(), DEFAULTS, measurement)) is told
