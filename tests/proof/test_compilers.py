"""A compiler that is asked about a text runs nothing of the folder that the server was started in."""

from pathlib import Path

import pytest

from kernelwright.proof.compilers import compile_errors

TEXT = "__global__ void scale(float* x) {\n    x[threadIdx.x] *= factor;\n}\n"


async def test_errors_come_from_a_process_that_imports_nothing_of_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json.py", "tempfile.py", "kernelwright.py"):
        (tmp_path / name).write_text("open('ran', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    errors = await compile_errors(str(tmp_path / "scale.cu"), TEXT, quick=True)
    assert not (tmp_path / "ran").exists()
    assert [(one.line, one.column) for one in errors or ()] == [(1, 22)]
