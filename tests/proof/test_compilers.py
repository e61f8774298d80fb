"""A compiler that is asked about a text runs nothing of the folder that the server was started in."""

import asyncio
import os
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


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.01, 0.05, 0.1])
async def test_a_question_that_is_called_off_at_any_time_ends_with_its_process(seconds: float, tmp_path: Path) -> None:
    asking = asyncio.create_task(compile_errors(str(tmp_path / "scale.cu"), TEXT, quick=True))
    await asyncio.sleep(seconds)
    asking.cancel()
    await asyncio.wait({asking}, timeout=10)
    assert asking.done(), "it waits for a process that will not tell of its end"
    asked = os.fsencode(tmp_path / "scale.cu")
    async with asyncio.timeout(10):
        while any(asked in line for line in map(command_of, Path("/proc").glob("[0-9]*"))):
            await asyncio.sleep(0.02)


def command_of(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""  # it has ended meanwhile
