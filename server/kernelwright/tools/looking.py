"""Tools that look at kernels: nothing is written, and of the user's code only calls are captured."""

import asyncio
from collections.abc import Sequence

from kernelwright import callers, joining, prompting, recording, roof, words
from kernelwright.examining import examined, told_of
from kernelwright.languages import absence
from kernelwright.macro.policy import Offer, candidates, menu
from kernelwright.macro.policy.expected_gain import expected_gain
from kernelwright.macro.strategies import with_id
from kernelwright.macro.strategy import Group, Observation, ask
from kernelwright.menu import Menu
from kernelwright.mistakes import BadInput
from kernelwright.observer import named_target
from kernelwright.source.roofline import bound, known_work
from kernelwright.tools.actions import action_of
from kernelwright.tools.asking import Asked, Told, carried_out, told
from kernelwright.tools.parameters import File, KernelName, OneKernel, StrategyId
from kernelwright.tools.results import (
    FindingRow,
    Findings,
    KernelRow,
    Kernels,
    Prompt,
    Roofline,
    Strategies,
    StrategyRow,
)
from kernelwright.tools.workspace import Opened, Workspace, given
from kernelwright.values import Kernel, Measurement, Outcome, Refusal, Workload, digest

_HOW_TO_GET_ONE = (
    "record_workloads has lines written from a test that calls it, infer_workloads guesses and tries some."
)


async def list_kernels(file: File, asked: Asked) -> Told[Kernels]:
    """List the kernels of a file: name, language, lines, and the workload, which is how each is called for checks and timing.

    Begin here. All other tools want a kernel's name, and most want it to have a workload; where there is none it says how to
    get one. A kernel that one other file launches has that file's workload, and its changes may be of both files.
    """
    opened = asked.workspace.open(file)
    kernels = await asyncio.to_thread(opened.support.kernels, opened.text)
    elsewhere = await asyncio.to_thread(_workloads_elsewhere, asked.workspace, opened, kernels)
    rows = tuple(_kernel(opened, kernel, elsewhere.get(kernel.name)) for kernel in kernels)
    if not rows:
        raise BadInput(f"{file} {absence(opened.support, opened.text, ())}")
    said = [f"{row.name} ({row.language}, lines {row.first_line}-{row.last_line}): {_call(row)}" for row in rows]
    return told("\n".join(said), Kernels(file, rows))


async def list_strategies(file: File, kernel: KernelName, asked: Asked) -> Told[Strategies]:
    """List the strategies for a kernel, the most promising first, each with what it saves or why it does not apply.

    A strategy is one kind of macro optimisation. Choose one that applies, ask action_prompt for its instructions, and try one
    change at a time. `needs_gpu`: it shows its worth on a GPU only. `needs_model`: Kernelwright itself has no rule that
    carries it out, so it is for you to write. One that does not apply here may still be kept, if you know more than it does.
    """
    found = await _observed(file, kernel, asked)
    engine = asked.workspace.engine

    def ranked() -> Menu:
        offers = menu(found)  # whoever writes: here that is the agent
        return Menu(found, offers, expected_gain(engine.settings.min_gain)(found, candidates(offers)))

    made = await asyncio.to_thread(ranked)
    rows = tuple(_strategy(made, offer) for offer in made.ordered)
    applying = [f"{row.id}: {row.reason}{_needs(row)}" for row in rows if row.applies]
    others = [f"{row.id} (does not apply): {row.reason}" for row in rows if not row.applies]
    return told("\n".join(applying + others), Strategies(file, kernel, found.device.name, rows))


async def list_findings(file: File, asked: Asked, kernel: OneKernel = None) -> Told[Findings]:
    """List what can be said against the code of kernels without running it: missing masks, strided loads, and so on.

    Cheap, and needs no workload: a good hint where to look first. With one, z3 looks for accesses of CUDA kernels that are out
    of bounds, and for write races; what it says of a kernel tells how much was not checked.
    """
    opened = asked.workspace.open(file)
    wanted = opened.kernel(kernel) if kernel is not None else None
    kernels = await asyncio.to_thread(opened.support.kernels, opened.text)
    found = await asyncio.to_thread(opened.support.findings, opened.text, kernels)
    of_text = tuple(
        FindingRow(one.code, one.severity.value, one.message, one.start_line + 1, one.end_line + 1, one.kernel)
        for one in found
        if wanted is None or one.kernel == wanted.name or one.start_line in range(wanted.start_line, wanted.end_line)
    )
    indices = await examined(opened.support, opened.text, [wanted] if wanted is not None else kernels)
    known = {(row.code, row.first_line) for row in of_text}
    more = (
        FindingRow(one.code, "warning", one.message, one.line + 1, one.line + 1, one.kernel)
        for one in indices.remarks
        if wanted is None or one.kernel == wanted.name
    )
    rows = (*of_text, *(row for row in more if (row.code, row.first_line) not in known))
    said = [f"{row.code}, line {row.first_line}: {row.message}" for row in rows]
    said += [f"{one.kernel}: {told_of(one)}." for one in indices.kernels if wanted is None or one.kernel == wanted.name]
    return told("\n".join(said) or "There is nothing to say against the code.", Findings(file, rows))


async def roofline(file: File, kernel: KernelName, asked: Asked) -> Told[Roofline]:
    """Say what bounds a kernel on its workload, memory or compute, and the least time that its work takes on the device.

    Use it to decide whether a change is worth trying: near the roof there is nothing left to gain. On a machine without a GPU
    it is told for the GPU that the settings name, or an assumed one.
    """
    found = await _observed(file, kernel, asked)
    settings = asked.workspace.engine.settings
    measured = _of_this_text(found)
    work = known_work(found.kernel, found.workload, found.graph)
    device = found.device if found.device.bandwidth else named_target(settings)
    if work is None:
        data = Roofline(kernel, device.name, None, None, None, None, None)
        return told(f"How much work {kernel} has on its workload is not known.", data)
    side = bound(work, device)
    least = side.floor_ms if measured is None or measured.device == device.name else None
    data = Roofline(kernel, device.name, side.kind, least, work.bytes, work.flops, _share(measured))
    return told(f"{roof.sentence(found, settings, measured)}.", data)


async def action_prompt(file: File, kernel: KernelName, strategy: StrategyId, asked: Asked) -> Told[Prompt]:
    """Give the prompt for one change: what the strategy wants and where, an example, the device, the code that may be changed.

    It is what Kernelwright asks a language model of its own. Follow it: write the search/replace blocks that it asks for, and
    give these to verify, measure or keep_step as `blocks`.
    """
    found = await _observed(file, kernel, asked)
    action, why = await asyncio.to_thread(action_of, strategy, found)
    chosen = with_id(action.strategy)
    system, user = await asyncio.to_thread(prompting.action_prompt, found, action, chosen, why)
    region = action.region
    data = Prompt(
        chosen.id, region.start_line + 1, region.end_line, why.reason if why is not None else "", system.text, user.text
    )
    return told(f"{system.text}\n\n{user.text}", data)


async def _observed(file: str, kernel: str, asked: Asked) -> Observation:
    """The kernel with its device and op graph. Raises BadInput."""
    workspace = asked.workspace
    opened = await asyncio.to_thread(workspace.open_kernel, file, kernel)
    answer = await carried_out(
        asked,
        lambda report, cancel: workspace.engine.observe_fully(
            str(opened.path), opened.text, kernel, report, cancel, opened.support
        ),
    )
    return given(answer)


def _workloads_elsewhere(workspace: Workspace, opened: Opened, kernels: Sequence[Kernel]) -> dict[str, Workload]:
    """How the one other file that launches a kernel calls it, for those of a file that nothing in it launches."""
    lacking = [one for one in kernels if joining.may_be_joined(one)]
    if not lacking:
        return {}
    texts = {**callers.read_all(recording.source_files([workspace.root])), opened.path: opened.text}
    graph, found = callers.imports(texts), dict[str, Workload]()
    for kernel in lacking:
        one = joining.with_launcher(texts, graph, opened.path, kernel, opened.support)
        workload = opened.support.workload(one.text, one.kernel.entry) if isinstance(one, joining.Joined) else None
        if isinstance(workload, Workload):
            found[kernel.name] = workload
    return found


def _kernel(opened: Opened, kernel: Kernel, elsewhere: Workload | None) -> KernelRow:
    workload = elsewhere or opened.support.workload(opened.text, kernel.entry)
    missing = f"{workload.reason} {_HOW_TO_GET_ONE}" if isinstance(workload, Refusal) else ""
    described = None if isinstance(workload, Refusal) else workload.told
    return KernelRow(kernel.name, kernel.language.value, kernel.start_line + 1, kernel.end_line, described, missing)


def _call(row: KernelRow) -> str:
    return f"workload {row.workload}" if row.workload is not None else f"no workload. {row.missing}"


def _strategy(made: Menu, offer: Offer) -> StrategyRow:
    strategy = offer.strategy
    return StrategyRow(
        id=strategy.id,
        title=strategy.title,
        applies=offer.refusal is None,
        reason=offer.refusal.reason if offer.refusal is not None else made.reason(strategy.id),
        places=tuple(
            f"lines {one.region.start_line + 1}-{one.region.end_line}: {one.region.label}" for one in offer.actions
        ),
        needs_gpu=not isinstance(strategy, Group) and strategy.needs_gpu,
        needs_model=not isinstance(strategy, Group) and strategy.intent is ask,
    )


def _needs(row: StrategyRow) -> str:
    needs = [what for what, wanted in (("a GPU", row.needs_gpu), ("a model", row.needs_model)) if wanted]
    return f" (needs {' and '.join(needs)})" if needs else ""


def _of_this_text(found: Observation) -> Measurement | None:
    """The number that may be said of the text as it stands: that of the kept step that made it."""
    here = digest(found.text)
    made = (step for step in reversed(found.history) if step.outcome is Outcome.KEPT and step.after_hash == here)
    return next((step.measurement for step in made if words.measured(step.verdict, step.measurement)), None)


def _share(measured: Measurement | None) -> float | None:
    if measured is None or measured.roof is None or not measured.roof.least_ms or not measured.candidate.median_ms:
        return None
    share = measured.roof.least_ms / measured.candidate.median_ms
    return share if share <= 1.0 else None
