"""`kernelwright optimize`: one step or several, shown with their evidence, written only when asked."""

import asyncio
from pathlib import Path

from rich.markup import escape

from kernelwright import words
from kernelwright.cli import card, console
from kernelwright.cli.console import DONE, OUT, BadInput
from kernelwright.engine import Engine, Request, named_target
from kernelwright.journal import open_in_memory, open_journal
from kernelwright.proof.jobs import CompileResult
from kernelwright.values import Failure, Kernel, Language, Outcome, Refusal, Step


def optimize_file(
    file: Path,
    kernel_name: str | None,
    strategy: str | None,
    steps: int,
    write: bool,
    diff: bool,
    json_out: Path | None,
    interpreter: str | None,
) -> int:
    with console.ends_on_bad_input():
        text = console.read(file)
        kernel = console.find_kernel(file, text, kernel_name)
        return asyncio.run(_run(file, text, kernel, strategy, steps, write, diff, json_out, interpreter))
    return DONE


async def _run(
    file: Path,
    text: str,
    kernel: Kernel,
    strategy: str | None,
    steps: int,
    write: bool,
    diff: bool,
    json_out: Path | None,
    interpreter: str | None,
) -> int:
    workspace = console.workspace_of(file)
    settings = console.settings_for(interpreter, max_steps=steps)
    # A dry run changes no file, so it must not claim kept steps in the workspace's history either.
    journal = open_journal(workspace) if write else open_in_memory(workspace)
    engine = Engine(workspace, settings, journal=journal)
    if write and not engine.journal.persistent:
        console.ERR.print(f"[yellow]{escape(engine.journal.notice)}[/]")
    path = str(file.resolve())
    try:
        with console.progress(f"Optimising {kernel.name}") as report:
            await _show_card(engine, Request(path, text, kernel.name, strategy), report)
            tried, ending = await _steps(engine, Request(path, text, kernel.name, strategy), report)
    finally:
        await engine.close()
    after = card.text_after(tried, text)
    if ending:
        OUT.print(f"\n{escape(ending)}")
    if diff and after != text:
        card.show_diff(text, after, file.name)
    if write and after != text:
        console.write(file, after)
        OUT.print(f"\nWrote {escape(str(file))}.")
    console.write_json(json_out, result_of(engine, kernel, tried, ending))
    return DONE


async def _show_card(engine: Engine, request: Request, report: console.Progress) -> None:
    observation = await engine.observe_fully(request, report, None)
    if isinstance(observation, Failure):
        raise BadInput(words.of_failure(observation))
    if isinstance(observation, Refusal):
        raise BadInput(observation.reason)
    roof = observation.device if observation.device.is_gpu else named_target(engine.settings)
    card.show_card(observation, roof)
    if observation.kernel.language is Language.TRITON:
        compiled = await engine.resources(observation, report)
        if isinstance(compiled, CompileResult):
            card.show_resources(compiled, roof)
        else:
            reason = compiled.reason if isinstance(compiled, Refusal) else compiled.message
            OUT.print(f"  compiled   no: {escape(reason)}")


async def _steps(engine: Engine, request: Request, report: console.Progress) -> tuple[list[Step], str]:
    """The steps taken, and in words why there are no more of them."""
    tried: list[Step] = []
    async for step in engine.autopilot(request, report):
        if not isinstance(step, Step):
            return tried, words.of_failure(step) if isinstance(step, Failure) else step.reason
        tried.append(step)
        card.show_step(step)
    return tried, ""


def result_of(engine: Engine, kernel: Kernel, tried: list[Step], ending: str) -> dict[str, object]:
    """The JSON result: device, steps as values, and the final speedup with its interval where one was measured."""
    kept = [step for step in tried if step.outcome is Outcome.KEPT]
    last = kept[-1] if kept else None
    measured = last.measurement if last and words.measured(last.verdict, last.measurement) else None
    return {
        "device": engine.known_device,
        "kernel": kernel.name,
        "steps": tried,
        "ending": ending,
        "speedup": measured
        and {"ratio": measured.speedup, "low": measured.speedup_low, "high": measured.speedup_high, "confidence": 0.95},
    }
