"""`kernelwright revert`: take a file back to before a kept step, keeping what was changed elsewhere since."""

import asyncio
from pathlib import Path

from rich.markup import escape

from kernelwright.cli import console
from kernelwright.cli.console import DONE, OUT, BadInput
from kernelwright.engine import Engine
from kernelwright.values import Outcome, Refusal, apply


def revert_file(file: Path, step_id: str | None) -> int:
    with console.ends_on_bad_input():
        text = console.read(file)
        engine = Engine(console.workspace_of(file))
        path = str(file.resolve())
        try:
            kept = [step for step in engine.history(path) if step.outcome is Outcome.KEPT]
            if not kept:
                raise BadInput(f"The journal has no kept step of {file}, so there is nothing to take back.")
            edits = engine.revert(path, text, step_id or kept[-1].id)
            if isinstance(edits, Refusal):
                raise BadInput(edits.reason)
            console.write(file, apply(edits, text))
        finally:
            asyncio.run(engine.close())
        OUT.print(f"Took back {escape(edits.summary.removeprefix('Revert '))}; wrote {escape(str(file))}.")
    return DONE
