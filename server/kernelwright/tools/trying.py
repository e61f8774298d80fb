"""Tools that try a text of the agent's: through the gate, through the clock, and as a step."""

import asyncio
import re
from typing import Annotated

from kernelwright import words
from kernelwright.coders.given import Given
from kernelwright.coders.given import given as text_given
from kernelwright.engine import Request
from kernelwright.macro.strategies import title_of
from kernelwright.mistakes import BadInput
from kernelwright.prompting.evidence import evidence_of
from kernelwright.proof.jobs import TrialResult
from kernelwright.tools.actions import action_of, check_strategy
from kernelwright.tools.asking import Asked, Report, Told, carried_out, told
from kernelwright.tools.parameters import Blocks, File, KernelName, StrategyId, Text
from kernelwright.tools.results import Measured, Tried, Verified
from kernelwright.tools.verdicts import in_words, judged, speedup
from kernelwright.tools.workspace import Opened, Workspace, given, no_answer
from kernelwright.values import Outcome, Step, apply, with_pages_of
from kernelwright.values.plain import plain

_LONGEST_WHY = 120
_LAST_LINES = 25  # of a traceback or compiler's log
_SPEED = re.compile(
    r"\d\s*(?:[x×](?!\s*\d)|%|[mµun]?s\b|times\b(?!\s*\d)|percent\b|-?fold\b)|\b(?:faster|speed-?up)\b", re.IGNORECASE
)

Why = Annotated[str, "In a few words what you changed, for the history: not a speedup."]


async def verify(
    file: File, kernel: KernelName, asked: Asked, text: Text = None, blocks: Blocks = None
) -> Told[Verified]:
    """Check a change against the kernel's baseline, without writing it: is it right? Says what was checked, and what was not.

    Only the kernel, what launches it, and new helpers and imports beside them may be changed; any other edit is refused before
    it runs. There is never a speedup here, because nothing is timed: use measure for that.
    """
    result = await _trial(file, kernel, asked, text, blocks, measure=False)
    verdict = judged(result.verdict)
    return told(in_words(verdict), Verified(file, kernel, verdict))


async def measure(
    file: File, kernel: KernelName, asked: Asked, text: Text = None, blocks: Blocks = None
) -> Told[Measured]:
    """Check a change as verify does, and where it passes, time it against the baseline: is it faster? Nothing is written.

    A speedup, with its device and 95 % interval, stands only beside a passing verdict of the same text. Do not report any
    other number to the user. Where the speed cannot be measured, as that of GPU code on a machine without one, it says why.
    """
    result = await _trial(file, kernel, asked, text, blocks, measure=True)
    verdict, number = judged(result.verdict), speedup(result.verdict, result.measurement)
    unmeasured = "" if number is not None or not verdict.passed else result.unmeasured
    said = words.result(result.verdict, result.measurement, result.unmeasured)
    return told(in_words(verdict, said), Measured(file, kernel, verdict, number, unmeasured))


async def keep_step(
    file: File,
    kernel: KernelName,
    strategy: StrategyId,
    asked: Asked,
    text: Text = None,
    blocks: Blocks = None,
    why: Why = "",
) -> Told[Tried]:
    """Carry out one step of a strategy with your change: it is checked, timed, and kept only if it is right and faster.

    A kept step is written to the file, and to the journal with its evidence and your name. Otherwise the file stays as it
    was, and the answer says what was wrong: mend the change and call again. Where the speed cannot be measured here, a step
    that passes is kept, and says so. Do not edit the file yourself; this is what writes it.
    """
    workspace = asked.workspace
    if _SPEED.search(why):
        raise BadInput("Say in `why` what you changed, not how fast it is: that is measured.")

    async def work(report: Report, cancel: asyncio.Event) -> tuple[Step, str]:
        async with workspace.writing:
            opened = await asyncio.to_thread(workspace.open_kernel, file, kernel)
            check_strategy(strategy, opened.kernel(kernel))
            candidate = _text(workspace, opened, kernel, text, blocks)
            observation = given(
                await workspace.engine.observe_fully(
                    str(opened.path), opened.text, kernel, report, cancel, opened.support
                )
            )
            action, _ = await asyncio.to_thread(action_of, strategy, observation)
            coder = Given(candidate, asked.author, plain(why)[:_LONGEST_WHY])
            request = Request(
                str(opened.path), opened.text, kernel, action=action, support=opened.support, coders=(coder,)
            )
            step = given(await workspace.engine.optimize(request, report, cancel))
            if step.failure is not None and not step.failure.about_kernel:
                raise no_answer(step.failure)
            return step, _write(workspace, opened, step) if step.outcome is Outcome.KEPT else ""

    step, wrote = await carried_out(asked, work)
    kept, said = step.outcome is Outcome.KEPT, words.of_step(step, title_of(step.action.strategy))
    data = Tried(
        file=file,
        kernel=kernel,
        step=step.id,
        strategy=step.action.strategy,
        author=step.author,
        kept=kept,
        sentence=said,
        verdict=judged(step.verdict) if step.verdict is not None else None,
        log=_last_lines(step.failure.detail) if step.failure is not None else "",
        speedup=speedup(step.verdict, step.measurement),
    )
    if kept:
        return told(f"Kept, and written to {wrote}. {said}\n{workspace.engine.journal.notice}".rstrip(), data)
    evidence = in_words(data.verdict) if data.verdict is not None else data.log
    return told("\n".join(filter(None, (f"{file} is as it was. {said}", evidence, evidence_of(step).advice))), data)


async def _trial(
    file: str, kernel: str, asked: Asked, text: str | None, blocks: str | None, *, measure: bool
) -> TrialResult:
    """The gate's word, and the clock's, on a change of the file as it stands. Raises BadInput."""
    workspace = asked.workspace
    opened = await asyncio.to_thread(workspace.open_kernel, file, kernel)
    candidate = _text(workspace, opened, kernel, text, blocks)
    engine, path = workspace.engine, str(opened.path)
    answer = await carried_out(
        asked,
        lambda report, cancel: engine.trial(
            path,
            candidate,
            kernel,
            baseline=engine.baseline(path, opened.text, kernel),
            measure=measure,
            support=opened.support,
            report=report,
            cancel=cancel,
        ),
    )
    return given(answer)


def _text(workspace: Workspace, opened: Opened, kernel: str, text: str | None, blocks: str | None) -> str:
    """The whole text that an agent means. Raises BadInput where that is no edit that may be tried."""
    opened.kernel(kernel)
    if text is not None:
        text = with_pages_of(text, opened.text)  # a whole file is that of the kernel
    observation = given(workspace.engine.observe(str(opened.path), opened.text, kernel, support=opened.support))
    return given(text_given(observation, text, blocks))


def _last_lines(log: str) -> str:
    return "\n".join(plain(log, lines=True).strip().splitlines()[-_LAST_LINES:])


def _write(workspace: Workspace, opened: Opened, step: Step) -> str:
    """Write a kept step, and say where. Raises BadInput where that cannot be done; then the journal does not say that it is."""
    assert step.edits is not None
    try:
        return workspace.write(opened, apply(step.edits, opened.text))
    except BadInput:
        workspace.engine.mark_reverted(str(opened.path), (step.id,))
        raise
