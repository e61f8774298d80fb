"""Every control and exploit as a file with its workload lines: the command line and the editor find what they call."""

from pathlib import Path

import pytest
from corpus import Case, cases

from cheats.outcome import file_of
from kernelwright.cli.console import find_kernel
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import find_workload
from kernelwright.values import Workload

ALL = [*cases("controls"), *cases("exploits")]


@pytest.mark.parametrize("case", ALL, ids=str)
def test_a_text_has_the_kernel_that_its_workload_calls(case: Case) -> None:
    for text in (case.baseline, case.candidate):
        written = file_of(case, text)
        kernel = find_kernel(Path("kernel.py"), written, None, whole=True)
        assert kernel.entry == case.entry
        assert kernel in find_kernels(parse(written))
        workload = find_workload(written, kernel.entry)
        assert isinstance(workload, Workload)
        assert tuple(call.text for call in workload.cases) == case.workload
