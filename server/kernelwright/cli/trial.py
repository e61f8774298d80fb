"""`kernelwright verify` and `measure`: the gate, and the clock behind it, on a file as it stands."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from rich.markup import escape

from kernelwright import files, words
from kernelwright.cli import card, console, opening
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE, GATE_FAILED
from kernelwright.engine import Engine
from kernelwright.journal import open_in_memory
from kernelwright.languages import of_file
from kernelwright.mistakes import BadInput
from kernelwright.proof.jobs import TrialResult


def try_file(
    file: Path,
    kernel_name: str | None,
    against: Path | None,
    json_out: Path | None,
    interpreter: str | None,
    how: Mapping[str, object],
    *,
    measure: bool,
) -> int:
    files.check_result(json_out, file, against)
    opened = opening.opened(file, kernel_name, whole=True)
    if against and len(opened.files) > 1:
        raise BadInput(f"{opened.named} cannot be compared with one other file; leave out --against.")
    baseline = (files.read(against), str(against.resolve())) if against else None
    return asyncio.run(_run(opened, baseline, json_out, interpreter, how, measure))


async def _run(
    opened: opening.Opened,
    baseline: tuple[str, str] | None,
    json_out: Path | None,
    interpreter: str | None,
    how: Mapping[str, object],
    measure: bool,
) -> int:
    workspace, kernel = console.workspace_of(opened.files[0]), opened.kernel.name
    # Looking leaves nothing behind: the history is read, never written.
    engine = Engine(workspace, console.settings_for(interpreter, **how), journal=open_in_memory(workspace))
    try:
        with console.progress(f"Verifying {kernel}") as report:
            known, home = baseline or (None, "")
            answer = await engine.trial(
                opened.path,
                opened.text,
                kernel,
                baseline=known,
                baseline_path=home,
                measure=measure,
                support=of_file(opened.files[0]),
                report=report,
            )
    finally:
        await engine.close()
    if not isinstance(answer, TrialResult):
        raise console.no_result(answer)
    OUT.print(escape(words.result(answer.verdict, answer.measurement, answer.unmeasured)))
    card.show_checks(answer.verdict)
    if answer.measurement and words.measured(answer.verdict, answer.measurement):
        card.show_timings(answer.measurement)
    console.write_json(json_out, {"device": engine.known_device, "kernel": kernel, "result": answer})
    return DONE if answer.verdict.passed else GATE_FAILED
