"""`kernelwright verify` and `measure`: the gate, and the clock behind it, on a file as it stands."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from rich.markup import escape

from kernelwright import files, words
from kernelwright.cli import card, console
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE, GATE_FAILED
from kernelwright.engine import Engine
from kernelwright.journal import open_in_memory
from kernelwright.languages import of_file
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
    text = files.read(file)
    kernel = console.find_kernel(file, text, kernel_name, whole=True)
    baseline = (files.read(against), str(against.resolve())) if against else None
    return asyncio.run(_run(file, text, kernel.name, baseline, json_out, interpreter, how, measure))


async def _run(
    file: Path,
    text: str,
    kernel: str,
    baseline: tuple[str, str] | None,
    json_out: Path | None,
    interpreter: str | None,
    how: Mapping[str, object],
    measure: bool,
) -> int:
    workspace = console.workspace_of(file)
    # Looking leaves nothing behind: the history is read, never written.
    engine = Engine(workspace, console.settings_for(interpreter, **how), journal=open_in_memory(workspace))
    path = str(file.resolve())
    try:
        with console.progress(f"Verifying {kernel}") as report:
            known, home = baseline or (None, "")
            answer = await engine.trial(
                path,
                text,
                kernel,
                baseline=known,
                baseline_path=home,
                measure=measure,
                support=of_file(file),
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
