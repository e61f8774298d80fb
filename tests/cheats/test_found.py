"""Every control and exploit as a file with its workload lines: the command line and the editor find what they call."""

from pathlib import Path

import pytest

from cheats.outcome import Specimen, file_of, specimens
from kernelwright.cli.console import find_kernel
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import find_workload
from kernelwright.values import Workload

ALL = [*specimens("controls.honest"), *specimens("cheats.exploits")]


@pytest.mark.parametrize("specimen", ALL, ids=str)
def test_a_text_has_the_kernel_that_its_workload_calls(specimen: Specimen) -> None:
    entry = specimen.workload[0].partition("(")[0] if specimen.workload else "Model"
    for text in (specimen.baseline, specimen.candidate):
        written = file_of(specimen, text)
        kernel = find_kernel(Path("kernel.py"), written, None, whole=True)
        assert kernel.entry == entry
        assert kernel in find_kernels(parse(written))
        workload = find_workload(written, kernel.entry)
        assert isinstance(workload, Workload)
        assert tuple(case.text for case in workload.cases) == specimen.workload
