"""The indices of a document, examined in a process of its own."""

import asyncio
import importlib.util
from pathlib import Path

import pytest

from indices.snippets import LINE, OUTSIDE, RIGHT
from kernelwright import examining
from kernelwright.examining import examined, told_of
from kernelwright.indices.results import Checked, Indices
from kernelwright.languages import LanguageSupport
from kernelwright.languages.cuda import SUPPORT as CUDA
from kernelwright.languages.python import SUPPORT as PYTHON

WRONG, WITNESS = OUTSIDE["a neighbour"]


def asked(support: LanguageSupport, text: str) -> Indices:
    return asyncio.run(examined(support, text, support.kernels(text)))


def test_a_text_is_examined_elsewhere() -> None:
    (remark,) = asked(CUDA, WRONG).remarks
    assert WITNESS in remark.message
    assert WRONG.splitlines()[remark.line][remark.column : remark.end_column] == "x[i + 1]"
    assert asked(CUDA, RIGHT["guarded"]) == Indices((), (Checked("kernel", inside=2, apart=True),))


def test_a_string_of_python_is_examined_at_its_place() -> None:
    code = "\n".join(line for line in WRONG.splitlines() if "workload" not in line)
    text = f'import cupy\n\n# workload: {LINE}\nsource = r"""\n{code}\n"""\nkernel = cupy.RawKernel(source, "kernel")\n'
    (remark,) = asked(PYTHON, text).remarks
    assert text.splitlines()[remark.line][remark.column : remark.end_column] == "x[i + 1]"
    assert remark.kernel == "kernel"


def test_without_a_workload_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examining, "answer", None)
    assert asked(CUDA, "\n".join(line for line in WRONG.splitlines() if "workload" not in line)) == Indices()


def test_without_z3_it_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert asked(CUDA, WRONG) == Indices()
    assert told_of(None) == "Indices: not checked, since z3 is not installed (pip install 'kernelwright[z3]')"


def test_what_is_open_is_told() -> None:
    assert told_of(None) == "Indices: not checked yet"
    told = told_of(Checked("kernel", inside=1, outside=2, open=3))
    assert told == (
        "Indices with the sizes of the workload: 1 access within bounds, 2 accesses out of bounds, 3 accesses not checked, "
        "write races not checked"
    )
    assert told_of(Checked("kernel", reason="of this")) == "Indices: not checked, since of this"


def test_nothing_of_the_folder_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json.py", "z3.py", "kernelwright.py"):
        (tmp_path / name).write_text("open('ran', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    assert asked(CUDA, WRONG).remarks
    assert not (tmp_path / "ran").exists()
