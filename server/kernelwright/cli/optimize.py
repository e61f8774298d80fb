"""`kernelwright optimize`: one step or several, shown with their evidence, written only when asked."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from rich.markup import escape

from kernelwright import files, words
from kernelwright.cli import card, console, opening
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE, LACKING
from kernelwright.engine import Engine, Request
from kernelwright.journal import open_in_memory, open_journal
from kernelwright.languages import of_file
from kernelwright.macro.strategies import choices, named, switched_off
from kernelwright.macro.strategy import Observation
from kernelwright.menu import menu
from kernelwright.mistakes import BadInput
from kernelwright.observer import Nothing, named_target
from kernelwright.proof.jobs import CompileResult
from kernelwright.settings import Settings
from kernelwright.values import Failure, FailureKind, Kernel, Language, Outcome, Refusal, Step, apply

Steps = Callable[[Engine, Request, console.Progress], AsyncIterator[Step | Nothing]]

# With one of these there is nothing to compile, so no step could be tried either.
_HOPELESS = frozenset(
    {FailureKind.NO_INTERPRETER, FailureKind.MISSING_PACKAGE, FailureKind.MISSING_TOOL, FailureKind.IMPORT_FAILED}
)


def optimize_file(
    file: Path,
    kernel_name: str | None,
    strategy: str | None,
    steps: int,
    write: bool,
    diff: bool,
    json_out: Path | None,
    interpreter: str | None,
    how: Mapping[str, object],
) -> int:
    """The next steps on one kernel, written to its file with `write`."""
    check_strategy(strategy)
    for name in switched_off(str(how.get("disabled_strategies", "")))[1]:
        check_strategy(name)
    files.check_result(json_out, file)
    opened = opening.opened(file, kernel_name)
    check_strategy(strategy, opened.kernel)
    settings = console.settings_for(interpreter, max_steps=steps, **how)
    return asyncio.run(run(opened, request_for(opened, strategy), Engine.autopilot, settings, write, diff, json_out))


def request_for(opened: opening.Opened, strategy: str | None = None) -> Request:
    """The request for a step of a kernel."""
    return Request(opened.path, opened.text, opened.kernel.name, strategy, support=of_file(opened.files[0]))


async def run(
    opened: opening.Opened,
    request: Request,
    steps_of: Steps,
    settings: Settings,
    write: bool,
    diff: bool,
    json_out: Path | None,
) -> int:
    """The steps that `steps_of` takes, each shown with its evidence, and written to the kernel's files with `write`."""
    workspace, text, kernel = console.workspace_of(opened.files[0]), request.text, opened.kernel
    # A dry run changes no file, so it must not claim kept steps in the workspace's history either.
    found = open_journal(workspace) if write else open_in_memory(workspace)
    journal = open_in_memory(workspace, found.reason) if isinstance(found, Refusal) else found
    provider = console.provider_for(settings)
    engine = Engine(workspace, settings, journal=journal, provider=provider)
    if write and not engine.journal.persistent:
        console.ERR.print(f"[yellow]{escape(engine.journal.notice)}[/]")
    try:
        if kernel.language is Language.TRITON:
            engine.workers.expect_compile()  # for the card, beside the look at the device
        with console.progress(f"Optimising {kernel.name}") as report:
            observation = await _show_card(engine, request, report)
            steps = steps_of(engine, request, report)
            tried, said, lacking = await _taken(engine, request, steps, opened if write else None)
            after = card.text_after(tried, text)
            if tried and said:  # the ending is about the text as it is now, and what was tried on it
                again = await engine.observe_fully(request.path, after, request.kernel, report, support=request.support)
                observation = again if isinstance(again, Observation) else observation
            left = menu(engine, observation)
    finally:
        await engine.close()
        if provider is not None:
            await provider.close()
    for sentence in said:
        OUT.print(f"\n{escape(sentence)}")
    if request.strategy is None and (not tried or left.stop_reason in said):
        card.show_reasons(left)
    changed = opened.changes(text, after)
    for file, old, new in changed if diff else ():
        card.show_diff(old, new, file.name)
    if write and changed:
        OUT.print(f"\nWrote {escape(' and '.join(str(file) for file, _, _ in changed))}.")
    console.write_json(json_out, result_of(engine, kernel, tried, " ".join(said)))
    return LACKING if lacking else DONE


async def _show_card(engine: Engine, request: Request, report: console.Progress) -> Observation:
    observation = await engine.observe_fully(
        request.path, request.text, request.kernel, report, support=request.support
    )
    if isinstance(observation, Failure | Refusal):
        raise console.no_result(observation)
    roof = observation.device if observation.device.is_gpu else named_target(engine.settings)
    card.show_card(observation, roof)
    if observation.kernel.language is Language.TRITON:
        compiled = await engine.resources(observation, report)
        if isinstance(compiled, CompileResult):
            card.show_resources(compiled, roof)
        elif isinstance(compiled, Failure) and compiled.kind in _HOPELESS:
            raise console.no_result(compiled)
        else:
            OUT.print(f"  compiled   no: {escape(console.sentence(compiled))}")
    return observation


async def _taken(
    engine: Engine, request: Request, steps: AsyncIterator[Step | Nothing], target: opening.Opened | None
) -> tuple[list[Step], list[str], bool]:
    """The steps taken, in words why there are no more of them, and whether that is for something that is lacking here.

    Each kept one goes to the files of `target` before the next begins.
    """
    tried: list[Step] = []
    said: list[str] = []
    lacking = False
    text, first = request.text, engine.journal.baseline(request.path, request.kernel) is None
    async for step in steps:
        if not isinstance(step, Step):
            said.append(console.sentence(step))
            continue
        if step.failure is not None and step.failure.lacks_something:
            said.append(console.sentence(step.failure))
            lacking = True
            continue
        tried.append(step)
        card.show_step(step)
        if target is not None and step.outcome is Outcome.KEPT and step.edits:
            after = apply(step.edits, text)
            _write(engine, request, target, step, text, after, first)
            text, first = after, False
    return tried, said, lacking


def _write(
    engine: Engine, request: Request, target: opening.Opened, step: Step, before: str, after: str, first: bool
) -> None:
    """Write a kept step; where that cannot be done, the journal must not say that the file has it. Raises BadInput."""
    try:
        files.replace_all(target.changes(before, after))
    except BadInput:
        engine.journal.mark_reverted(step.id)
        if first:
            engine.journal.drop_baseline(request.path, request.kernel)
        raise


def check_strategy(strategy: str | None, kernel: Kernel | None = None) -> None:
    """Raises BadInput for a strategy that does not exist, or is not for the language of `kernel`."""
    if strategy is None:
        return
    if not (meant := named(strategy)):
        raise BadInput(f"There is no strategy {strategy!r}; choose one of {choices()}.")
    if kernel is not None and not any(kernel.language in one.languages for one in meant):
        raise BadInput(
            f"{strategy} is not for {kernel.language.value} kernels such as {kernel.name}; "
            f"choose one of {choices(kernel.language)}."
        )


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
