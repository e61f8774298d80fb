"""`kernelwright strategies`, `history` and `doctor`: what there is."""

import asyncio
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from kernelwright import files, words
from kernelwright.cli import console
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE
from kernelwright.doctor import DoctorLine, examine
from kernelwright.journal import open_journal
from kernelwright.journal.opening import is_begun
from kernelwright.macro.strategies import for_language, registry, title_of
from kernelwright.macro.strategy import Strategy, ask
from kernelwright.mistakes import BadInput
from kernelwright.proof.client import Workers
from kernelwright.values import Language, Refusal, Step


def list_strategies(language: str | None, json_out: Path | None) -> int:
    files.check_result(json_out)
    if language is not None and language not in set(Language):
        raise BadInput(f"There is no language {language!r}; choose one of {', '.join(Language)}.")
    chosen = registry().values() if language is None else for_language(Language(language))
    console.write_json(json_out, {"strategies": [_described(strategy) for strategy in chosen]})
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


def _described(strategy: Strategy) -> dict[str, object]:
    return {
        "id": strategy.id,
        "title": strategy.title,
        "family": strategy.family,
        "languages": sorted(strategy.languages),
        "why": strategy.why,
        "needs_gpu": strategy.needs_gpu,
        "needs_model": strategy.intent is ask,
        "group": strategy.group.id if strategy.group is not None else None,
    }


def list_history(file: Path, kernel: str | None, json_out: Path | None) -> int:
    files.check_result(json_out, file)
    steps = _steps_of(file, kernel)
    if not steps and not file.exists():
        raise BadInput(f"{file} does not exist, and the journal has no steps of it.")
    if not steps:
        OUT.print(f"No steps yet on {escape(f'{kernel} in {file}' if kernel else str(file))}.")
    for step in steps:
        OUT.print(f"[dim]{step.id}  {step.created}[/]  {escape(step.kernel)}: {escape(words.of_step(step))}")
    said = [words.of_step(step, title_of(step.action.strategy)) for step in steps]
    console.write_json(json_out, {"file": str(file), "steps": steps, "sentences": said})
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


def list_doctor(interpreter: str | None, json_out: Path | None) -> int:
    files.check_result(json_out)
    lines = asyncio.run(_examined(interpreter))
    for line in lines:
        mark = "[green]found  [/]" if line.found else "[yellow]missing[/]"
        remedy = f"[dim]{escape(line.remedy)}[/]" if line.remedy and not line.found else ""
        OUT.print(f"{mark}  {line.name:<22} {'  '.join(filter(None, (escape(line.detail), remedy)))}")
    console.write_json(json_out, {"lines": lines})
    return DONE


async def _examined(interpreter: str | None) -> tuple[DoctorLine, ...]:
    workers = Workers(interpreter, cwd=Path.cwd())
    try:
        return await examine(workers, Path.cwd())
    finally:
        await workers.close()
