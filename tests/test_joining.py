"""Which file a kernel is joined with: the one that launches it, told by its imports."""

from pathlib import Path

import pytest

from kernelwright import callers, joining
from kernelwright.languages.python import SUPPORT
from kernelwright.values import Kernel, Refusal, pages

KERNELS = """\
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)
"""
LAYERS = """\
import torch
from IMPORT


def scaled(x):
    y = torch.empty_like(x)
    LAUNCH[(1,)](x, y, x.numel(), BLOCK=128)
    return y
"""
FOLDER = Path("/project/package")
HOME = FOLDER / "kernels.py"


def layers(imported: str = ".kernels import scale_kernel", launch: str = "scale_kernel") -> str:
    return LAYERS.replace("from IMPORT", f"from {imported}").replace("LAUNCH", launch)


def found(**others: str) -> joining.Joined | Refusal | None:
    texts = {HOME: others.pop("kernels", KERNELS)} | {FOLDER / f"{name}.py": text for name, text in others.items()}
    return joining.with_launcher(texts, callers.imports(texts), HOME, kernel(texts[HOME]), SUPPORT)


def kernel(text: str) -> Kernel:
    (one,) = (one for one in SUPPORT.kernels(text) if one.name == "scale_kernel")
    return one


@pytest.mark.parametrize(
    ("imported", "launch"),
    [
        (".kernels import scale_kernel", "scale_kernel"),
        ("package.kernels import scale_kernel", "scale_kernel"),
        (". import kernels", "kernels.scale_kernel"),
    ],
)
def test_one_file_launches_it(imported: str, launch: str) -> None:
    one = found(layers=layers(imported, launch))
    assert isinstance(one, joining.Joined)
    assert one.files == (HOME, FOLDER / "layers.py")
    assert [page.text for page in pages(one.text)] == [KERNELS, layers(imported, launch)]
    assert one.kernel.entry == "scaled"
    assert one.kernel.start_line == kernel(KERNELS).start_line


def test_it_is_found_from_the_launching_file_too() -> None:
    texts = {HOME: KERNELS, FOLDER / "layers.py": layers()}
    graph = callers.imports(texts)
    (one,) = joining.launched_in(texts, graph, FOLDER / "layers.py", SUPPORT)
    assert one == found(layers=layers())
    assert list(joining.launched_in(texts, graph, HOME, SUPPORT)) == []


def test_several_files_launch_it() -> None:
    one = found(layers=layers(), more=layers())
    assert isinstance(one, Refusal)
    assert one.reason == (
        "scale_kernel is launched from several files (layers.py, more.py); a step can change one of them only."
    )


def test_nothing_launches_it() -> None:
    assert found() is None
    assert found(test_layers=layers()) is None, "a test"
    assert found(layers=layers("elsewhere import scale_kernel")) is None, "another one of that name"


def test_a_kernel_of_the_same_name_in_the_launching_file_is_another_one() -> None:
    own = layers(".kernels import tl") + KERNELS
    assert found(layers=own) is None


def test_a_launcher_with_the_name_of_something_beside_the_kernel() -> None:
    one = found(kernels=KERNELS + "\n\ndef scaled(x):\n    return 2 * x\n", layers=layers())
    assert isinstance(one, Refusal)
    assert one.reason == (
        "scaled, which launches scale_kernel, has the name of something in kernels.py; rename one of them first."
    )


def test_a_kernel_that_its_own_file_launches_is_not_joined() -> None:
    own = kernel(KERNELS + layers("x import y"))
    assert joining.may_be_joined(kernel(KERNELS))
    assert not joining.may_be_joined(own)
    said = "# workload: scale_kernel[(1,)](randn(8), out(8), 8, BLOCK=8)\n@triton.jit"
    assert not joining.may_be_joined(kernel(KERNELS.replace("@triton.jit", said)))
