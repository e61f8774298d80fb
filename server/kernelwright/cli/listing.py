"""`kernelwright strategies`, `history` and `doctor`: what there is."""

import asyncio
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from kernelwright import words
from kernelwright.cli import console
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE
from kernelwright.doctor import examine
from kernelwright.journal import open_journal
from kernelwright.journal.opening import is_begun
from kernelwright.macro.strategies import for_language, registry
from kernelwright.mistakes import BadInput
from kernelwright.proof.client import Workers
from kernelwright.values import Language, Refusal, Step


def list_strategies(language: str | None) -> int:
    if language is not None and language not in set(Language):
        raise BadInput(f"There is no language {language!r}; choose one of {', '.join(Language)}.")
    chosen = registry().values() if language is None else for_language(Language(language))
    if not chosen:
        OUT.print(f"There is no strategy for {escape(str(language))} yet.")
        return DONE
    table = Table(box=None, padding=(0, 2), header_style="dim")
    for column in ("id", "family", "what it does"):
        table.add_column(column, overflow="fold")
    for strategy in chosen:
        table.add_row(strategy.id, strategy.family.value, escape(strategy.why))
    OUT.print(table)
    return DONE


def list_history(file: Path, kernel: str | None) -> int:
    steps = _steps_of(file, kernel)
    if not steps and not file.exists():
        raise BadInput(f"{file} does not exist, and the journal has no steps of it.")
    if not steps:
        OUT.print(f"No steps yet on {escape(f'{kernel} in {file}' if kernel else str(file))}.")
    for step in steps:
        OUT.print(f"[dim]{step.id}  {step.created}[/]  {escape(step.kernel)}: {escape(words.of_step(step))}")
    return DONE


def _steps_of(file: Path, kernel: str | None) -> tuple[Step, ...]:
    workspace = console.workspace_of(file)
    if not is_begun(workspace):
        return ()
    journal = open_journal(workspace)
    if isinstance(journal, Refusal):
        raise BadInput(journal.reason)
    with journal:
        steps = journal.steps(str(file.resolve()), kernel)
    if journal.notice:
        console.ERR.print(f"[yellow]{escape(journal.notice)}[/]")
    return steps


def list_doctor(interpreter: str | None) -> int:
    async def run() -> None:
        workers = Workers(interpreter, cwd=Path.cwd())
        try:
            for line in await examine(workers, Path.cwd()):
                mark = "[green]found  [/]" if line.found else "[yellow]missing[/]"
                remedy = "" if line.found or not line.remedy else f"  {line.remedy}"
                OUT.print(f"{mark}  {line.name:<22} {escape(line.detail)}[dim]{escape(remedy)}[/]")
        finally:
            await workers.close()

    asyncio.run(run())
    return DONE
