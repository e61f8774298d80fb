"""`kernelwright revert`: take a file back to before a kept step, keeping what was changed elsewhere since."""

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
from kernelwright.mistakes import BadInput
from kernelwright.values import Outcome, Refusal, apply


def revert_file(file: Path, step_id: str | None, json_out: Path | None) -> int:
    files.check_result(json_out, file)
    text = files.read(file)
    workspace = console.workspace_of(file)
    nothing = f"The journal has no kept step of {file}, so there is nothing to take back."
    if not is_begun(workspace):
        raise BadInput(nothing)
    journal = open_journal(workspace)
    if isinstance(journal, Refusal):
        raise BadInput(journal.reason)
    engine = Engine(workspace, journal=journal)
    path = str(file.resolve())
    try:
        if not journal.persistent:
            raise BadInput(f"{journal.notice} Nothing was taken back.")
        kept = [step for step in engine.history(path) if step.outcome is Outcome.KEPT]
        if not kept:
            raise BadInput(nothing)
        reversal = engine.revert(path, text, step_id or kept[-1].id)
        if isinstance(reversal, Refusal):
            raise BadInput(reversal.reason)
        files.replace(file, text, apply(reversal.edits, text))
        engine.mark_reverted(path, reversal.step_ids)
    finally:
        asyncio.run(engine.close())
    OUT.print(f"Took back {escape(reversal.edits.summary.removeprefix('Revert '))}; wrote {escape(str(file))}.")
    console.write_json(json_out, {"file": str(file), "reverted": reversal.step_ids})
    return DONE
