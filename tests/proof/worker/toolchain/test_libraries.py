"""Libraries that call NVIDIA's own are opened after these."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kernelwright.proof.worker.toolchain.libraries import opened

CALLER = "int cublasAnswer(void);\nint asked(void) { return cublasAnswer(); }\n"


def built(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    compiler = shutil.which("cc")
    assert compiler is not None, "Triton's interpreter needs a C compiler, too"
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return library


@pytest.fixture
def toolkit(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    return tmp_path / "toolkit"


def test_what_is_missing_is_opened_first(tmp_path: Path, toolkit: Path) -> None:
    built(toolkit / "lib64", "libcublas", "int cublasAnswer(void) { return 42; }\n")
    assert opened(built(tmp_path, "caller", CALLER)).asked() == 42


def test_what_is_not_installed_is_named(tmp_path: Path, toolkit: Path) -> None:
    text = CALLER.replace("cublasAnswer", "cusolverAnswer")
    with pytest.raises(OSError, match=r"it calls cusolverAnswer, and libcusolver\.so is not found here"):
        opened(built(tmp_path, "lacking", text))


def test_a_library_without_what_it_should_have_is_opened_once(tmp_path: Path, toolkit: Path) -> None:
    built(toolkit / "lib64", "libcurand", "int curandOther(void) { return 1; }\n")
    with pytest.raises(OSError, match="undefined symbol: curandAnswer"):
        opened(built(tmp_path, "still", CALLER.replace("cublasAnswer", "curandAnswer")))


def test_what_nobody_knows_is_told_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="undefined symbol: someAnswer"):
        opened(built(tmp_path, "unknown", CALLER.replace("cublasAnswer", "someAnswer")))
