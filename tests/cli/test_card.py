"""What stands above the timings of `optimize`."""

import pytest

from cli.terminal import COPY
from kernelwright.cli.card import show_card
from kernelwright.macro.strategy import Observation
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import find_workload
from kernelwright.values import CPU, Device, Workload
from kernelwright.values.targets import target

HERE = Device("cuda", "a GPU", bandwidth=1e12, peak_flops={"float32": 1e13})


@pytest.mark.parametrize(("here", "roof", "told"), [(HERE, HERE, True), (CPU, target("H200"), False)])
def test_the_least_time_of_an_assumed_gpu_is_not_told_above_timings_of_the_cpu(
    here: Device, roof: Device, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    (kernel,) = (found for found in find_kernels(parse(COPY)) if found.name == "copy_kernel")
    workload = find_workload(COPY, kernel.entry)
    assert isinstance(workload, Workload)
    show_card(Observation("copy.py", COPY, kernel, workload, here), roof)
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "roofline" in line)
    assert f"memory-bound on {roof.name}" in line
    assert (" ms" in line) is told
