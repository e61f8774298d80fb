"""`kernelwright profile`: what one warm call launches, whose kernels those are, and their part of the time."""

import asyncio
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from kernelwright import files, words
from kernelwright.cli import console, opening
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE
from kernelwright.engine import Engine
from kernelwright.journal import open_in_memory
from kernelwright.languages import of_file
from kernelwright.profiling import profile
from kernelwright.values import Origin, ProfiledOn, ProfileResult

_MOST_ROWS = 20
_COLOURS = {Origin.HAND_WRITTEN: "green", Origin.COMPILED: "cyan", Origin.LIBRARY: "dim"}


def profile_file(file: Path, kernel_name: str | None, json_out: Path | None, interpreter: str | None) -> int:
    files.check_result(json_out, file)
    return asyncio.run(_run(opening.opened(file, kernel_name, whole=True), json_out, interpreter))


async def _run(opened: opening.Opened, json_out: Path | None, interpreter: str | None) -> int:
    workspace, kernel, support = console.workspace_of(opened.files[0]), opened.kernel.name, of_file(opened.files[0])
    engine = Engine(workspace, console.settings_for(interpreter), journal=open_in_memory(workspace))
    try:
        with console.progress(f"Profiling {kernel}") as report:
            answer = await profile(engine, opened.path, opened.text, kernel, support=support, report=report)
    finally:
        await engine.close()
    if not isinstance(answer, ProfileResult):
        raise console.no_result(answer)
    if answer.kernels:
        OUT.print(_table(answer))
    OUT.print(escape(words.of_profile(answer)))
    OUT.print(f"  [dim]{escape(', '.join(f'{k}: {v}' for k, v in answer.conditions.items()))}[/]")
    said = {"device": engine.known_device, "kernel": kernel, "sentence": words.of_profile(answer), "result": answer}
    console.write_json(json_out, said)
    return DONE


def _table(profiled: ProfileResult) -> Table:
    """The kernels with the most time, a row each, and one row for all others together."""
    table = Table(box=None, padding=(0, 2), header_style="dim")
    operators = profiled.measured_on is not ProfiledOn.GPU
    table.add_column("kernel or operator" if operators else "kernel", overflow="fold")
    table.add_column("origin")
    for column in ("calls" if operators else "launches", "time", "share"):
        table.add_column(column, justify="right")
    shown, others = profiled.kernels[:_MOST_ROWS], profiled.kernels[_MOST_ROWS:]
    for kernel in shown:
        origin = f"[{_COLOURS[kernel.origin]}]{kernel.origin.value}[/]"
        table.add_row(escape(kernel.short_name), origin, f"{kernel.launches:g}", *_times(kernel.time_us, kernel.share))
    if others:
        times = None if profiled.time_us is None else sum(kernel.time_us or 0.0 for kernel in others)
        share = None if not profiled.time_us or times is None else times / profiled.time_us
        launches = sum(kernel.launches for kernel in others)
        table.add_row(f"{len(others)} more", "", f"{launches:g}", *_times(times, share))
    return table


def _times(time_us: float | None, share: float | None) -> tuple[str, str]:
    return (
        "not measured" if time_us is None else f"{words.milliseconds(time_us)} µs",
        "" if share is None else words.percent(share),
    )
