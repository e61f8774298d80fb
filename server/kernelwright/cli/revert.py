"""`kernelwright revert`: take a file back to before a kept step, keeping what was changed elsewhere since."""

import asyncio
from pathlib import Path

from rich.markup import escape

from kernelwright import files, joining
from kernelwright.cli import console
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE
from kernelwright.cli.opening import shown
from kernelwright.engine import Engine
from kernelwright.journal import open_journal
from kernelwright.journal.opening import is_begun
from kernelwright.mistakes import BadInput
from kernelwright.values import Outcome, Refusal, apply, files_of, with_texts


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
        step = next((step for step in kept if step.id == step_id), kept[-1])
        known = journal.text(step.after_hash) or text
        places = (file, *map(Path, files_of(path, known)[1:]))
        text = with_texts(known, [text, *map(files.read, places[1:])])
        reversal = engine.revert(path, text, step_id or step.id)
        if isinstance(reversal, Refusal):
            raise BadInput(reversal.reason)
        changed = joining.changes(places, text, apply(reversal.edits, text))
        files.replace_all(changed)
        engine.mark_reverted(path, reversal.step_ids)
    finally:
        asyncio.run(engine.close())
    wrote = " and ".join(str(shown(place)) for place, _, _ in changed)
    OUT.print(f"Took back {escape(reversal.edits.summary.removeprefix('Revert '))}; wrote {escape(wrote)}.")
    console.write_json(json_out, {"file": str(file), "reverted": reversal.step_ids})
    return DONE
