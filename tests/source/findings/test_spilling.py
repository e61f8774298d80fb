import pytest

from kernelwright.source.document import parse
from kernelwright.source.findings.docs import page
from kernelwright.source.findings.spilling import CODE, spilling
from kernelwright.source.kernels import find_kernels
from kernelwright.values import Resources

TEXT = """# größe
import triton
import triton.language as tl

@triton.jit
def wide(y, n, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK), 0.0)

def run(y):
    wide[(1,)](y, 1, BLOCK=64)
"""


def compiled(spill_bytes: int, kernel: str = "wide", warps: int = 4) -> Resources:
    return Resources(kernel, 90, 255, spill_bytes, 0, warps, 3, 0.25, "registers")


def test_a_spill_is_said_at_the_name_of_its_kernel():
    (kernel,) = find_kernels(parse(TEXT))
    finding = spilling(TEXT, kernel, (compiled(0), compiled(96, warps=8), compiled(16)))
    assert finding is not None
    assert TEXT[finding.start : finding.end] == "wide"
    assert TEXT.split("\n")[finding.start_line][finding.start_column : finding.end_column] == "wide"
    assert "96 bytes" in finding.message
    assert "num_warps=8" in finding.message
    assert f"### {CODE}\n" in page()


@pytest.mark.parametrize("resources", [(), (compiled(0),), (compiled(64, "another"),)])
def test_what_does_not_spill_is_left_alone(resources: tuple[Resources, ...]):
    (kernel,) = find_kernels(parse(TEXT))
    assert spilling(TEXT, kernel, resources) is None
