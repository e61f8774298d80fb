"""The only place that knows the whole way: observe, choose, rewrite, race, try, keep or reject, remember.

It never touches the user's file. A kept Step carries its Edits; who asked for it applies them.
"""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from kernelwright.journal import Journal, open_in_memory, open_journal
from kernelwright.macro.policy import Offer, Policy, best, candidates, menu
from kernelwright.macro.policy.expected_gain import expected_gain, tried
from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Observation, Strategy
from kernelwright.micro.edits import difference, transplant
from kernelwright.proof.client import Priority, Workers
from kernelwright.proof.jobs import (
    Capture,
    Compile,
    CompileResult,
    Limits,
    Race,
    RaceResult,
    Subject,
    Trial,
    TrialResult,
)
from kernelwright.settings import DEFAULTS, Settings
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.source.targets import target
from kernelwright.source.workload import find_workload
from kernelwright.steps import decide, failed_step, new_id, not_utf8, now, syntax_failure
from kernelwright.values import (
    CPU,
    Action,
    Device,
    Edits,
    Failure,
    FailureKind,
    Graph,
    Kernel,
    Language,
    Outcome,
    Refusal,
    Step,
    Timing,
    Workload,
    apply,
    digest,
)

Report = Callable[[str], None]

MANY_VARIANTS = 8
"""From here on compiling all variants first, off the GPU, is cheaper than racing those that spill or do not compile."""


def silent(stage: str) -> None:
    """A Report for callers that show no progress."""


@dataclasses.dataclass(frozen=True)
class Request:
    """What a person asked for: the next step of a kernel, of one strategy when named, or exactly one Action.

    With `only_new` a named strategy does not repeat what was tried on this text.
    """

    path: str
    text: str
    kernel: str
    strategy: str | None = None
    action: Action | None = None
    only_new: bool = False

    @property
    def by_name(self) -> bool:
        return self.strategy is not None or self.action is not None


@dataclasses.dataclass(frozen=True)
class Reversal:
    """How a kept step is taken back: the edits for the text of now, and the Steps that they undo, oldest first."""

    edits: Edits
    step_ids: tuple[str, ...]


Nothing = Refusal | Failure


class Engine:
    """Steps for the kernels of one workspace. All state on disk is the journal's; graphs are remembered by text."""

    def __init__(
        self,
        workspace: Path,
        settings: Settings = DEFAULTS,
        workers: Workers | None = None,
        journal: Journal | None = None,
        policy: Policy | None = None,
    ) -> None:
        self.settings = settings
        self.journal = journal or _journal_of(workspace)
        self.workers = workers or Workers(settings.interpreter or None, cwd=workspace)
        self._policy = policy or expected_gain(settings.min_gain)
        self._device: Device | None = None
        self._graphs: dict[tuple[str, str], Graph | Failure] = {}

    @property
    def known_device(self) -> Device | None:
        """The device as a worker described it; None before one was asked."""
        return self._device

    async def close(self) -> None:
        await self.workers.close()
        self.journal.close()

    # Observing: pure apart from the journal, no worker involved.

    def observe(self, path: str, text: str, kernel_name: str, kernel: Kernel | None = None) -> Observation | Refusal:
        """What is known of a kernel right now. The device is a CPU, and there is no graph, until a worker has said more.

        `kernel`, where the caller has already found it in this very text, saves parsing the text again.
        """
        if (line := not_utf8(text)) is not None:
            return Refusal(
                f"Line {line + 1} is not valid UTF-8, so Python cannot load the file; save it as UTF-8.", line
            )
        if kernel is None:
            kernels = find_kernels(parse(text))
            kernel = next((k for k in kernels if k.name == kernel_name), None)
            if kernel is None:
                return Refusal(_no_such_kernel(kernel_name, kernels))
        workload = workload_of(text, kernel)
        known = self._graphs.get(_graph_key(text, workload)) if isinstance(workload, Workload) else None
        return Observation(
            path=path,
            text=text,
            kernel=kernel,
            workload=workload if isinstance(workload, Workload) else None,
            device=self._device or CPU,
            graph=known if isinstance(known, Graph) else None,
            history=self.journal.steps(path, kernel_name),
        )

    def menu(self, observation: Observation) -> tuple[Offer, ...]:
        return menu(observation)

    def history(self, path: str, kernel: str | None = None) -> tuple[Step, ...]:
        return self.journal.steps(path, kernel)

    def baseline(self, path: str, text: str, kernel: str) -> str:
        """The text that correctness and speedup are judged against: `text` itself before the first kept Step."""
        return self.journal.baseline(path, kernel) or text

    # Jobs: each runs in a worker and answers with a value.

    async def device(self) -> Device | Failure:
        device = await self.workers.device()
        if isinstance(device, Device):
            self._device = device
        return device

    async def observe_fully(
        self, request: Request, report: Report, cancel: asyncio.Event | None
    ) -> Observation | Nothing:
        """An Observation with the device and, for PyTorch, the captured graph."""
        report("Looking at the device")
        device = await self.device()
        if isinstance(device, Failure):
            return device
        observation = self.observe(request.path, request.text, request.kernel)
        if isinstance(observation, Refusal):
            return observation
        if observation.workload is None:
            missing = workload_of(request.text, observation.kernel)
            return missing if isinstance(missing, Refusal) else Refusal("This kernel has no workload.")
        if observation.kernel.language is not Language.TORCH:
            return observation
        graph = await self._capture(observation, report, cancel)
        if isinstance(graph, Failure):
            return graph
        return dataclasses.replace(observation, graph=graph)

    async def resources(
        self, observation: Observation, report: Report = silent, cancel: asyncio.Event | None = None
    ) -> CompileResult | Nothing:
        """Registers, shared memory and occupancy of the kernels that the workload launches; nothing is run."""
        if observation.workload is None:
            return Refusal("This kernel has no workload, so its launches are not known.")
        report("Compiling")
        subject = Subject(observation.path, observation.text, observation.workload)
        return await self.workers.run(
            Compile(subject, self._compute_capability()),
            timeout=self.settings.verify_timeout,
            report=report,
            cancel=cancel,
        )

    async def optimize(
        self, request: Request, report: Report = silent, cancel: asyncio.Event | None = None
    ) -> Step | Nothing:
        """One step: choose, rewrite, race the variants, try the best, decide, remember."""
        if (unknown := _unknown_strategy(request)) is not None:
            return unknown
        observation = await self.observe_fully(request, report, cancel)
        if not isinstance(observation, Observation):
            return observation
        action = self._choose(request, observation)
        if isinstance(action, Refusal):
            return action
        strategy = registry()[action.strategy]
        if strategy.rewrite is None:
            return Refusal(f"{strategy.title} needs a language model, and none is configured.")
        report(f"{strategy.title}: rewriting")
        variants = strategy.rewrite(observation, action)
        if isinstance(variants, Refusal):
            return variants
        if strategy.prepares and observation.device.is_gpu:
            variants += await self._followed_up(observation, strategy, variants[0], report, cancel)
        chosen = await self._pick(observation, strategy, variants, report, cancel)
        if not isinstance(chosen, Edits):
            return self._remember(observation, failed_step(observation, action, chosen), observation.text)
        return await self._try(request, observation, strategy, action, chosen, report, cancel)

    async def autopilot(
        self, request: Request, report: Report = silent, cancel: asyncio.Event | None = None
    ) -> AsyncIterator[Step | Nothing]:
        """Steps until Stop, a budget, or no gain twice; the last item is the reason when it is not a Step."""
        started = asyncio.get_running_loop().time()
        text, without_gain = request.text, 0
        for number in range(self.settings.max_steps):
            if asyncio.get_running_loop().time() - started > self.settings.autopilot_budget:
                yield Refusal(f"Stopped after {self.settings.autopilot_budget:g} s, the budget of an autopilot run.")
                return
            stage = f"Step {number + 1}: "
            step = await self.optimize(
                dataclasses.replace(request, text=text, only_new=number > 0),
                lambda words, stage=stage: report(stage + words),
                cancel,
            )
            yield step
            if not isinstance(step, Step) or (step.failure and step.failure.kind is FailureKind.CANCELLED):
                return
            if step.outcome is Outcome.KEPT and step.edits:
                text, without_gain = apply(step.edits, text), 0
                continue
            without_gain += 1
            if without_gain == 2:
                yield Refusal("Stopped: two steps in a row brought no gain.")
                return

    async def trial(
        self,
        path: str,
        text: str,
        kernel: str,
        *,
        baseline: str | None = None,
        measure: bool,
        first_seed: int = 0,
        priority: Priority = Priority.REQUEST,
        report: Report = silent,
        cancel: asyncio.Event | None = None,
    ) -> TrialResult | Nothing:
        """Verify, and when `measure` time, `text` against its baseline, on seeds counted from `first_seed`."""
        device = await self.device()
        if isinstance(device, Failure):
            return device
        observation = self.observe(path, text, kernel)
        if isinstance(observation, Refusal):
            return observation
        workload = workload_of(text, observation.kernel)
        if isinstance(workload, Refusal):
            return workload
        against = baseline if baseline is not None else self.baseline(path, text, kernel)
        job = Trial(
            path, against, text, text, workload, measure, dataclasses.replace(self.limits, first_seed=first_seed)
        )
        return await self._run_trial(job, report, cancel, priority)

    def revert(self, path: str, text: str, step_id: str) -> Reversal | Refusal:
        """How `text` goes back to before a kept step, keeping what a person changed elsewhere since.

        The journal is not changed: once the edits have been applied, say so with `mark_reverted`.
        """
        steps = self.journal.steps(path)
        index = next((i for i, step in enumerate(steps) if step.id == step_id), None)
        if index is None:
            return Refusal(f"The journal of this file has no step {step_id}.")
        wanted = steps[index]
        undone = [s for s in steps[index:] if s.kernel == wanted.kernel and s.outcome is Outcome.KEPT]
        if not undone or undone[0].id != step_id:
            return Refusal(f"Step {step_id} was {wanted.outcome.value}, so there is nothing to take back.")
        before, after = self.journal.text(wanted.before_hash), self.journal.text(undone[-1].after_hash)
        if before is None or after is None:
            return Refusal(f"The journal no longer holds the texts of step {step_id}.")
        edits = transplant(difference(after, before, f"Revert {wanted.action.strategy}"), after, text)
        return edits if isinstance(edits, Refusal) else Reversal(edits, tuple(step.id for step in undone))

    def mark_reverted(self, path: str, step_ids: Iterable[str]) -> None:
        """The Steps are no longer in the file: a Reversal was applied, or the editor did not take their edits.

        When none of a kernel's is left, the Baseline that the first of them set goes with them.
        """
        gone = set(step_ids)
        for step_id in gone:
            self.journal.mark_reverted(step_id)
        for step in (step for step in self.journal.steps(path) if step.id in gone):
            left = any(s.outcome is Outcome.KEPT for s in self.journal.steps(path, step.kernel))
            baseline = self.journal.baseline(path, step.kernel)
            if not left and baseline is not None and digest(baseline) == step.before_hash:
                self.journal.drop_baseline(path, step.kernel)

    def reset_baseline(self, path: str, text: str, kernel: str) -> None:
        """From now on `text` is what this kernel is judged against."""
        self.journal.set_baseline(path, kernel, text)

    # The parts of one step.

    def _choose(self, request: Request, observation: Observation) -> Action | Refusal:
        if request.action is not None:
            return request.action
        if request.strategy is not None:
            actions = registry()[request.strategy].applies(observation)
            if isinstance(actions, Refusal):
                return actions
            new = next((action for action in actions if tried(observation, action) is None), None)
            if new is not None or not request.only_new:
                return new or actions[0]
            return Refusal(tried(observation, actions[0]) or "Already tried on this text.")
        choice = best(self._policy(observation, candidates(observation)))
        return Refusal(choice.reason) if choice.is_stop else choice.action

    async def _followed_up(
        self,
        observation: Observation,
        strategy: Strategy,
        first: Edits,
        report: Report,
        cancel: asyncio.Event | None,
    ) -> tuple[Edits, ...]:
        """`first` together with what `strategy` prepares for, as further variants: alone it may cost more than it gains."""
        text = apply(first, observation.text)
        prepared = self.observe(observation.path, text, observation.kernel.name)
        if isinstance(prepared, Refusal) or prepared.workload is None:
            return ()
        graph = await self._capture(prepared, report, cancel)
        if isinstance(graph, Failure):
            return ()
        prepared = dataclasses.replace(prepared, graph=graph)
        found: list[Edits] = []
        for follower in (registry()[name] for name in strategy.prepares):
            actions = follower.applies(prepared)
            if isinstance(actions, Refusal) or follower.rewrite is None:
                continue
            edits = follower.rewrite(prepared, actions[0])
            if isinstance(edits, Refusal):
                continue
            together = f"{first.summary}, then {follower.title.lower()}".removeprefix(", ")
            found += [difference(observation.text, apply(e, text), f"{together}: {e.summary}") for e in edits]
        return tuple(found)

    async def _pick(
        self,
        observation: Observation,
        strategy: Strategy,
        variants: tuple[Edits, ...],
        report: Report,
        cancel: asyncio.Event | None,
    ) -> Edits | Failure:
        """The variant to try: the fastest where a race can be run, otherwise the strategy's best guess."""
        texts = {variant: apply(variant, observation.text) for variant in variants}
        runs_triton = "triton" in next(iter(texts.values()))
        gpu = observation.device.is_gpu
        if strategy.needs_gpu and len(variants) > MANY_VARIANTS:
            variants = await self._compilable(observation, texts, report, cancel)
            if isinstance(variants, Failure):
                return variants
        if len(variants) == 1 or (runs_triton and not gpu):
            return variants[0]
        assert observation.workload is not None
        report(f"{strategy.title}: racing {len(variants)} variants")
        answer = await self.workers.run(
            Race(
                observation.path,
                observation.text,
                tuple(texts[variant] for variant in variants),
                observation.workload,
                self.limits,
            ),
            timeout=self.settings.verify_timeout,
            report=report,
            cancel=cancel,
        )
        if isinstance(answer, Failure):
            return answer
        assert isinstance(answer, RaceResult)
        timed = [(t.median_ms, i) for i, t in enumerate(answer.timings) if isinstance(t, Timing)]
        if timed:
            return variants[min(timed)[1]]
        return next(t for t in answer.timings if isinstance(t, Failure))

    async def _compilable(
        self, observation: Observation, texts: dict[Edits, str], report: Report, cancel: asyncio.Event | None
    ) -> tuple[Edits, ...] | Failure:
        """The variants that compile; those that spill registers only if no other is left.

        Without a GPU there will be no race, so the first good one ends the search.
        """
        clean: list[Edits] = []
        spilling: list[Edits] = []
        failure: Failure | None = None
        for number, (variant, text) in enumerate(texts.items(), 1):
            answer = await self.resources(
                dataclasses.replace(observation, text=text),
                lambda _, n=number: report(f"Compiling variant {n} of {len(texts)}"),
                cancel,
            )
            if isinstance(answer, CompileResult):
                (spilling if any(r.spill_bytes for r in answer.resources) else clean).append(variant)
                if clean and not observation.device.is_gpu:
                    break
            elif isinstance(answer, Failure):
                failure = answer
                if answer.kind is FailureKind.CANCELLED:
                    return answer
        return tuple(clean or spilling) or failure or Failure(FailureKind.COMPILE_FAILED, "No variant compiles.")

    async def _try(
        self,
        request: Request,
        observation: Observation,
        strategy: Strategy,
        action: Action,
        edits: Edits,
        report: Report,
        cancel: asyncio.Event | None,
    ) -> Step:
        path, text, kernel = observation.path, observation.text, observation.kernel.name
        candidate = apply(edits, text)
        if (broken := syntax_failure(candidate)) is not None:
            return self._remember(observation, failed_step(observation, action, broken), candidate)
        assert observation.workload is not None
        baseline = self.baseline(path, text, kernel)
        job = Trial(path, baseline, text, candidate, observation.workload, measure=True, limits=self.limits)
        answer = await self._run_trial(job, report, cancel)
        if not isinstance(answer, TrialResult):
            return self._remember(observation, failed_step(observation, action, answer), candidate)
        outcome, reason = decide(
            answer, self.settings.min_gain, needs_number=strategy.needs_gpu and not request.by_name
        )
        step = Step(
            id=new_id(),
            kernel=kernel,
            action=action,
            edits=edits,
            before_hash=digest(text),
            after_hash=digest(candidate),
            outcome=outcome,
            reason=reason,
            verdict=answer.verdict,
            measurement=answer.measurement,
            created=now(),
        )
        return self._remember(observation, step, candidate)

    async def _run_trial(
        self, job: Trial, report: Report, cancel: asyncio.Event | None, priority: Priority = Priority.REQUEST
    ) -> TrialResult | Failure:
        report("Verifying")
        answer = await self.workers.run(
            job, timeout=self.settings.verify_timeout, report=report, priority=priority, cancel=cancel
        )
        assert isinstance(answer, TrialResult | Failure)
        return answer

    async def _capture(self, observation: Observation, report: Report, cancel: asyncio.Event | None) -> Graph | Failure:
        assert observation.workload is not None
        key = _graph_key(observation.text, observation.workload)
        if key not in self._graphs:
            report("Capturing the op graph")
            answer = await self.workers.run(
                Capture(Subject(observation.path, observation.text, observation.workload)),
                timeout=self.settings.capture_timeout,
                report=report,
                cancel=cancel,
            )
            assert isinstance(answer, Graph | Failure)
            if isinstance(answer, Failure) and answer.kind is not FailureKind.NOT_CAPTURED:
                return answer  # may be another time: not remembered
            self._graphs[key] = answer
        return self._graphs[key]

    def _remember(self, observation: Observation, step: Step, candidate: str) -> Step:
        """Journal the step; a cancelled one says nothing about the kernel and is not remembered."""
        if step.failure and step.failure.kind is FailureKind.CANCELLED:
            return step
        path, text, kernel = observation.path, observation.text, observation.kernel.name
        if step.outcome is Outcome.KEPT and self.journal.baseline(path, kernel) is None:
            self.journal.set_baseline(path, kernel, text)
        self.journal.add_step(path, step, text, candidate)
        return step

    @property
    def limits(self) -> Limits:
        return Limits(timing_budget=self.settings.timing_budget, threads=self.settings.threads)

    def _compute_capability(self) -> int:
        if self._device and self._device.compute_capability:
            return self._device.compute_capability
        return named_target(self.settings).compute_capability or 90


def _journal_of(workspace: Path) -> Journal:
    opened = open_journal(workspace)
    return open_in_memory(workspace, opened.reason) if isinstance(opened, Refusal) else opened


def named_target(settings: Settings) -> Device:
    """The GPU that facts are compiled for on a machine without one."""
    return target(settings.target or "H100") or target("H100")


def workload_of(text: str, kernel: Kernel) -> Workload | Refusal:
    return find_workload(text, kernel.entry)


def _unknown_strategy(request: Request) -> Refusal | None:
    wanted = request.action.strategy if request.action else request.strategy
    if wanted is None or wanted in registry():
        return None
    return Refusal(f"There is no strategy {wanted!r}; choose one of {', '.join(registry())}.")


def _no_such_kernel(name: str, kernels: tuple[Kernel, ...]) -> str:
    if not kernels:
        return "This file has no kernel: no @triton.jit function that is launched, no nn.Module, no tensor function."
    return f"This file has no kernel {name!r}; it has {', '.join(k.name for k in kernels)}."


def _graph_key(text: str, workload: Workload) -> tuple[str, str]:
    return digest(text), workload.entry
