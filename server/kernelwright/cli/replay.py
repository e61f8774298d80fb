"""`kernelwright replay`: the kept steps of a kernel once more, on its file as it is now."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from kernelwright import files
from kernelwright.cli import console, opening
from kernelwright.cli.optimize import request_for, run
from kernelwright.engine import Engine, Request
from kernelwright.journal import open_in_memory
from kernelwright.mistakes import BadInput
from kernelwright.observer import Nothing, Report
from kernelwright.values import Step


def replay_file(
    file: Path,
    kernel_name: str | None,
    reset_baseline: bool,
    write: bool,
    diff: bool,
    json_out: Path | None,
    interpreter: str | None,
    how: Mapping[str, object],
) -> int:
    """Take the kept steps again, each through the gate; with `reset_baseline` against the file as it is now."""
    files.check_result(json_out, file)
    opened = opening.opened(file, kernel_name)
    name = opened.kernel.name
    with open_in_memory(console.workspace_of(opened.files[0])) as journal:
        if not journal.recipe(opened.path, name).steps:
            raise BadInput(f"The journal has no kept step of {name} in {file}, so there is nothing to replay.")

    def steps(engine: Engine, request: Request, report: Report) -> AsyncIterator[Step | Nothing]:
        if reset_baseline:
            engine.reset_baseline(request.path, request.text, request.kernel)
        return engine.replay(request, report)

    settings = console.settings_for(interpreter, **how)
    return asyncio.run(run(opened, request_for(opened), steps, settings, write, diff, json_out))
