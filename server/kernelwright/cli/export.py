"""`kernelwright export`: a kept step as one script that runs without Kernelwright."""

import asyncio
from pathlib import Path

from rich.markup import escape

from kernelwright import files
from kernelwright.cli import console
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE
from kernelwright.engine import Engine
from kernelwright.journal import open_journal
from kernelwright.journal.opening import is_begun
from kernelwright.languages import of_file
from kernelwright.languages.cuda import SUPPORT as CUDA
from kernelwright.mistakes import BadInput
from kernelwright.values import Refusal

_HOW = ("run it with a Python that has torch", "its first lines say how nvcc builds it")  # of Python, of CUDA C++


def export_step(file: Path, step_id: str | None, out: Path | None, json_out: Path | None) -> int:
    files.check_result(json_out, file, out)
    files.read(file)
    workspace = console.workspace_of(file)
    if not is_begun(workspace):
        raise BadInput(f"The journal has no kept step of {file}, so there is nothing to export.")
    journal = open_journal(workspace)
    if isinstance(journal, Refusal):
        raise BadInput(journal.reason)
    engine = Engine(workspace, journal=journal)
    try:
        script = engine.script(str(file.resolve()), step_id)
    finally:
        asyncio.run(engine.close())
    if isinstance(script, Refusal):
        raise BadInput(script.reason)
    if out is not None:
        if out.exists():
            raise BadInput(f"{out} exists already; choose another --out.")
        files.check_result(out)
        out.write_text(script, encoding="utf-8")
        OUT.print(f"Wrote {escape(str(out))}; {_HOW[of_file(file).id == CUDA.id]}.")
    elif json_out != files.STDOUT:  # whose result has it
        print(script, end="")
    console.write_json(json_out, {"file": str(file), "script": script, "out": str(out) if out is not None else None})
    return DONE
