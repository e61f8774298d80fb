"""A result belongs to a kernel's own code: editing what the kernel does not use leaves it standing."""

import pytest

from kernelwright.lsp.results import code_of
from kernelwright.values import Kernel, Language

TEXT = """\
import torch
import triton
SCALE = 2

@triton.jit
def inner(x):
    return x

def first(x):
    return inner[(1,)](x) * SCALE

def second(x):
    return x + 1
# workload: first(randn(8))
"""


def kernel(name: str, start: int, end: int, entry: str | None = None, entry_lines: tuple[int, int] | None = None):
    first, last = entry_lines or (None, None)
    return Kernel(Language.TRITON, name, start, end, start, 4, entry or name, first, last)


KERNELS = (kernel("inner", 4, 7, "first", (8, 10)), kernel("second", 11, 13))


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("x + 1", "x + 2", True),  # the other kernel
        ("import triton\n", "import triton  \n", False),
        ("SCALE = 2", "SCALE = 3", False),
        ("return x\n", "return -x\n", False),
        ("* SCALE", "/ SCALE", False),
        ("randn(8)", "randn(9)", False),
        ("SCALE = 2\n", "SCALE = 2\n# a comment\n", None),  # moves every line, so the spans move too
    ],
)
def test_what_counts_as_the_code_of_a_kernel(old: str, new: str, same: bool | None) -> None:
    changed = TEXT.replace(old, new, 1)
    assert changed != TEXT
    if same is None:
        moved = (kernel("inner", 5, 8, "first", (9, 11)), kernel("second", 12, 14))
        assert code_of(changed, moved[0], moved) == code_of(TEXT, KERNELS[0], KERNELS)
        return
    assert (code_of(changed, KERNELS[0], KERNELS) == code_of(TEXT, KERNELS[0], KERNELS)) is same


def test_a_kernel_that_is_used_counts() -> None:
    using = TEXT.replace("return x + 1", "return inner(x)")
    changed = using.replace("return x\n", "return -x\n")
    assert code_of(using, KERNELS[1], KERNELS) != code_of(changed, KERNELS[1], KERNELS)
