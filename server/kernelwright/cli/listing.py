"""`kernelwright strategies`, `history` and `doctor`: what there is."""

import asyncio
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from kernelwright import words
from kernelwright.cli import console
from kernelwright.cli.console import DONE, OUT, BadInput
from kernelwright.doctor import examine
from kernelwright.journal import open_journal
from kernelwright.macro.strategies import registry
from kernelwright.proof.client import Workers
from kernelwright.values import Language, Refusal


def list_strategies(language: str | None) -> int:
    with console.ends_on_bad_input():
        if language is not None and language not in set(Language):
            raise BadInput(f"There is no language {language!r}; choose one of {', '.join(Language)}.")
        table = Table(box=None, padding=(0, 2), header_style="dim")
        for column in ("id", "family", "what it does"):
            table.add_column(column, overflow="fold")
        for strategy in registry().values():
            if language is None or Language(language) in strategy.languages:
                table.add_row(strategy.id, strategy.family.value, escape(strategy.why))
        OUT.print(table)
    return DONE


def list_history(file: Path, kernel: str | None) -> int:
    with console.ends_on_bad_input():
        journal = open_journal(console.workspace_of(file))
        if isinstance(journal, Refusal):
            raise BadInput(journal.reason)
        steps = journal.steps(str(file.resolve()), kernel)
        journal.close()
        if not steps:
            OUT.print(f"No steps yet on {escape(str(file))}.")
        for step in steps:
            OUT.print(f"[dim]{step.id}  {step.created}[/]  {escape(step.kernel)}: {escape(words.of_step(step))}")
    return DONE


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
