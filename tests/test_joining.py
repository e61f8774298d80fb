"""Which file a kernel is joined with: the one that launches it, told by its imports."""

from pathlib import Path

import pytest

from kernelwright import callers, joining, steps
from kernelwright.journal import open_in_memory
from kernelwright.languages.python import SUPPORT
from kernelwright.observer import Observer
from kernelwright.proof.jobs import TrialResult
from kernelwright.settings import DEFAULTS
from kernelwright.values import Check, Failure, FailureKind, Kernel, Refusal, Verdict, VerdictStatus, joined, pages

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


def test_what_a_trial_says_of_lines_names_their_files() -> None:
    text = joined(KERNELS, "layers.py", layers())
    assert text is not None
    line = pages(text)[1].line + 5
    failed = steps.of_files(Failure(FailureKind.CRASHED, f"It raised at line {line}."), text)
    assert isinstance(failed, Failure)
    assert failed.message == "It raised at line 5 of layers.py."
    check = Check("runs", "scaled(randn(8))", False, f"line {line} raised, called from line 3")
    verdict = Verdict(VerdictStatus.FAILED, "a", "b", (check,), f"Line {line} raised.", caveats=(f"not line {line}",))
    result = steps.of_files(TrialResult(verdict), text)
    assert isinstance(result, TrialResult)
    assert result.verdict.checks[0].detail == "line 5 of layers.py raised, called from line 3"
    assert result.verdict.reason == "Line 5 of layers.py raised."
    assert result.verdict.caveats == ("not line 5 of layers.py",)
    assert steps.of_files(TrialResult(verdict), KERNELS) == TrialResult(verdict)


def test_a_baseline_is_of_as_many_files_as_the_text(tmp_path: Path) -> None:
    """The journal of a kernel that had a workload line of its own before, or has one now."""
    whole, now = joined("old", "layers.py", "launcher"), joined(KERNELS, "layers.py", layers())
    assert whole is not None
    assert now is not None
    with open_in_memory(tmp_path) as journal:
        observer = Observer(DEFAULTS, None, journal)  # type: ignore[arg-type]  (no worker is asked)
        assert observer.baseline("kernels.py", "scale_kernel", now) is None
        journal.set_baseline("kernels.py", "scale_kernel", whole)
        assert observer.baseline("kernels.py", "scale_kernel", now) == whole
        assert observer.baseline("kernels.py", "scale_kernel", KERNELS) == "old"
        journal.set_baseline("kernels.py", "scale_kernel", "older")
        assert observer.baseline("kernels.py", "scale_kernel", now) == joined("older", "layers.py", layers())
