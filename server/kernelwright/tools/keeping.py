"""Tools for what was tried before: the history of a file, a step taken back, and one as a script."""

import asyncio

from kernelwright import words
from kernelwright.macro.strategies import title_of
from kernelwright.mistakes import BadInput
from kernelwright.tools.asking import Asked, Told, told
from kernelwright.tools.parameters import File, OneKernel, StepId
from kernelwright.tools.results import History, Reverted, Script, StepRow
from kernelwright.tools.workspace import given
from kernelwright.values import Outcome, Step, apply


async def history(file: File, asked: Asked, kernel: OneKernel = None) -> Told[History]:
    """List the steps that were tried on a file, oldest first, with their evidence and who wrote them.

    Look here before you try something: what was rejected on this text will be rejected again.
    """
    workspace = asked.workspace
    steps = workspace.engine.history(str(workspace.inside(file)), kernel)
    rows = tuple(_row(step) for step in steps)
    said = [f"{row.id} {row.created} {row.kernel}, {row.outcome}: {row.sentence}" for row in rows]
    return told("\n".join(said) or f"No steps yet on {file}.", History(file, rows))


async def revert(file: File, asked: Asked, step: StepId = None) -> Told[Reverted]:
    """Take a kept step back, and with it all later ones of its kernel. What was changed elsewhere in the file since stays."""
    workspace = asked.workspace
    async with workspace.writing:
        engine, path = workspace.engine, str(workspace.inside(file))
        kept = [one for one in engine.history(path) if one.outcome is Outcome.KEPT]
        if not kept:
            raise BadInput(f"The journal has no kept step of {file}, so there is nothing to take back.")
        last = next((one for one in kept if one.id == step), kept[-1])
        opened = workspace.open_known(file, engine.journal.text(last.after_hash) or "")
        reversal = given(engine.revert(path, opened.text, step or last.id))
        wrote = workspace.write(opened, apply(reversal.edits, opened.text))
        engine.mark_reverted(path, reversal.step_ids)
    said = f"Took back {', '.join(reversal.step_ids)}; wrote {wrote}."
    return told(said, Reverted(file, reversal.step_ids))


async def export(file: File, asked: Asked, step: StepId = None) -> Told[Script]:
    """Give a kept step as one script that compares and times both texts with torch alone, or with nvcc. Nothing is written."""
    workspace = asked.workspace
    script = given(await asyncio.to_thread(workspace.engine.script, str(workspace.inside(file)), step))
    return told(script, Script(file, script))


def _row(step: Step) -> StepRow:
    return StepRow(
        id=step.id,
        created=step.created,
        kernel=step.kernel,
        strategy=step.action.strategy,
        outcome=step.outcome.value,
        author=step.author,
        sentence=words.of_step(step, title_of(step.action.strategy)),
    )
