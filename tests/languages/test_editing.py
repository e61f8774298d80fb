"""What an edit from outside may change of a Python file, and what it may use."""

import pytest

from kernelwright.languages.python import SUPPORT
from kernelwright.values import Refusal

TEXT = """\
import torch
import triton
import triton.language as tl

SCALE = 2.0


def reference(x):
    return x * SCALE


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x * 2.0, mask=offsets < n)


# workload: scale(randn(1000))
def scale(x):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


class Plot:
    pass


# The end.
"""


HELPER = """\
@triton.jit
def twice(x):
    return x + x
"""


def problem(after: str, before: str = TEXT) -> str:
    (kernel,) = (one for one in SUPPORT.kernels(before) if one.name == "scale_kernel")
    found = SUPPORT.edit_problem(before, after, kernel)
    return found.reason if isinstance(found, Refusal) else ""


def with_kernel(statement: str) -> str:
    """The text with a statement more at the start of the launcher."""
    return TEXT.replace("    out = torch.empty_like(x)\n", f"    {statement}\n    out = torch.empty_like(x)\n")


@pytest.mark.parametrize(
    "after",
    [
        TEXT.replace("x * 2.0", "x + x"),
        TEXT.replace("BLOCK=256", "BLOCK=1024, num_warps=8").replace(", 256)", ", 1024)"),
        TEXT.replace("@triton.jit", f"{HELPER}\n\n@triton.jit").replace("x * 2.0", "twice(x)"),
        TEXT.replace("import torch\n", "import functools\nimport math\n\nimport torch\n"),
        TEXT.replace("SCALE = 2.0\n", "SCALE = 2.0\nBLOCK_SIZE = 512\n"),
        with_kernel("if not x.is_contiguous():\n        raise ValueError('contiguous tensors only')"),
        TEXT.replace("# The end.", "# Told first.\n# The end."),
        TEXT + "import torch\n",  # means what it meant
        with_kernel("device = torch.cuda.current_device()"),
    ],
)  # fmt: skip
def test_kernel_launcher_and_new_helpers_may_change(after: str) -> None:
    assert problem(after) == ""


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (TEXT.replace("SCALE = 2.0", "SCALE = 3.0"), "Line 5 (`SCALE = 2.0`) is outside of what may be changed: `scale`,"),
        (TEXT.replace("SCALE = 2.0\n", ""), "Line 5 (`SCALE = 2.0`) is outside"),
        (TEXT.replace("return x * SCALE", "return x"), "Line 8 (`def reference(x):`) is outside"),
        (TEXT.replace("# The end.", "# The very end."), "Line 30 (`# The end.`) is outside"),
        (TEXT + "\nSCALE = 3.0\n", "gives the name `SCALE` another meaning"),
        (TEXT.replace("def scale(x):", "def scaled(x):"), "`scale` must stay defined once"),
        (TEXT + "\n\ndef scale(x):\n    return x\n", "`scale` must stay defined once"),
        (TEXT + "\nscale = reference\n", "gives the name `scale` another meaning"),
        (TEXT + "\nprint('hello')\n", "is no import, helper or constant"),
        (TEXT + "\ntorch.empty_like = torch.zeros_like\n", "may not be replaced"),
        (TEXT + "\nimport math as torch\n", "gives the name `torch` another meaning"),
        (TEXT + "\nif True:\n    pass\n", "is no import, helper or constant"),
        (TEXT + "\nx = 1; import torch\n", ""),
        (TEXT.replace("randn(1000)", "randn(8)"), "Line 19 (`# workload: scale(randn(1000))`) is outside"),
        (TEXT.replace("# The end.", "# workload: scale(randn(2))\n# The end."), "The workload lines must stay as they are"),
        (TEXT.replace("class Plot:\n    pass", "class Plot:\n    scale = 1"), "Line 26 (`class Plot:`) is outside"),
        (with_kernel("import os"), "The module `os` is not allowed in a kernel's code"),
        (with_kernel("from time import perf_counter"), "The module `time`"),
        (with_kernel("import subprocess as triton_tools"), "The module `subprocess`"),
        (with_kernel("from . import tricks"), "The module `.` is not allowed"),
        (with_kernel("open('/tmp/seen', 'w')"), "`open` is not allowed"),
        (with_kernel("eval('1')"), "`eval` is not allowed"),
        (with_kernel("__import__('os')"), "`__import__` is not allowed"),
        (with_kernel("getattr(torch, 'load')"), "`getattr` is not allowed"),
        (with_kernel("x.__class__"), "`__class__` reaches into Python's objects"),
        (with_kernel("torch.cuda.synchronize()"), "`torch.cuda.synchronize` touches timers"),
        (with_kernel("torch.cuda.Event(enable_timing=True)"), "touches timers"),
        (with_kernel("from torch.cuda import Event as E"), "`torch.cuda.Event` touches timers"),
        (with_kernel("torch.backends.cuda.matmul.allow_tf32 = True"), "changes settings of the whole process"),
        (with_kernel("torch.set_float32_matmul_precision('high')"), "changes settings of the whole process"),
        (with_kernel("torch.manual_seed(0)"), "changes the random numbers of the caller"),
        (with_kernel("torch.cuda.stream(torch.cuda.Stream())"), "leaves the caller's stream"),
        (with_kernel("torch.load('weights.pt')"), "reads files"),
        (with_kernel("torch.Tensor.copy_ = None"), "belongs to a library and may not be replaced"),
        (with_kernel("global SCALE"), "keeps state between calls"),
    ],
)  # fmt: skip
def test_all_else_is_refused_in_a_sentence(after: str, reason: str) -> None:
    assert reason in problem(after)
    assert bool(problem(after)) == bool(reason)


def test_what_the_file_uses_already_is_left_alone() -> None:
    before = TEXT.replace("import torch\n", "import os\n\nimport torch\n").replace(
        "    out = torch", "    print(os.environ)\n    out = torch"
    )
    assert problem(before.replace("x * 2.0", "x + x"), before) == ""
    assert "`open`" in problem(before.replace("x * 2.0", "x + x").replace("print(", "open("), before)


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter() -> None:
    before = "\ufeff" + TEXT.replace("\n", "\r\n")
    assert problem(before.replace("x * 2.0", "x + x"), before) == ""
    assert "SCALE" in problem(before.replace("SCALE = 2.0", "SCALE = 3.0"), before)


def test_pieces_say_what_may_be_changed() -> None:
    (kernel,) = (one for one in SUPPORT.kernels(TEXT) if one.name == "scale_kernel")
    pieces = SUPPORT.pieces(TEXT, kernel)
    assert [one.name for one in pieces if one.editable] == ["scale_kernel", "scale"]
    assert "".join(one.code for one in pieces).split() == TEXT.split()
