"""The only place that knows the whole way: observe, choose, rewrite, race, try, keep or reject, remember.

It never touches the user's file. A kept Step carries its Edits; who asked for it applies them.
"""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from kernelwright import words
from kernelwright.journal import Journal, open_in_memory, open_when_begun
from kernelwright.macro.policy import Offer, Policy, candidates, menu, rivals
from kernelwright.macro.policy.expected_gain import expected_gain, tried
from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Observation
from kernelwright.micro.edits import difference, transplant
from kernelwright.observer import Nothing, Observer, Report, silent, workload_of
from kernelwright.proof import endings
from kernelwright.proof.client import Priority, Workers
from kernelwright.proof.jobs import (
    Limits,
    Trial,
    TrialResult,
)
from kernelwright.settings import DEFAULTS, Settings
from kernelwright.steps import decide, failed_step, new_id, now, syntax_failure, under_roof
from kernelwright.values import (
    Action,
    Device,
    Edits,
    Effort,
    Failure,
    Graph,
    Language,
    Outcome,
    Refusal,
    Step,
    apply,
    digest,
)
from kernelwright.variants import Variant, fastest, variants_of

_PATIENCE = 5.0  # times the time of a verification, at effort paranoid


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
        self.workers = workers or Workers(settings.interpreter or None, cwd=workspace, keep=settings.keep_environment)
        self._policy = policy or expected_gain(settings.min_gain)
        self.observer = Observer(settings, self.workers, self.journal)
        self.observe = self.observer.observe
        self.observe_fully = self.observer.observe_fully
        self.resources = self.observer.resources
        self.device = self.observer.device

    @property
    def known_device(self) -> Device | None:
        """The device as a worker described it; None before one was asked."""
        return self.observer.known_device

    async def close(self) -> None:
        await self.workers.close()
        self.journal.close()

    def menu(self, observation: Observation) -> tuple[Offer, ...]:
        return menu(observation)

    def history(self, path: str, kernel: str | None = None) -> tuple[Step, ...]:
        return self.journal.steps(path, kernel)

    def baseline(self, path: str, text: str, kernel: str) -> str:
        """The text that correctness and speedup are judged against: `text` itself before the first kept Step."""
        return self.journal.baseline(path, kernel) or text

    async def optimize(
        self, request: Request, report: Report = silent, cancel: asyncio.Event | None = None
    ) -> Step | Nothing:
        """One step: choose, rewrite, race the variants, try the best, decide, remember."""
        if (unknown := _unknown_strategy(request)) is not None:
            return unknown
        observation = await self.observe_fully(request.path, request.text, request.kernel, report, cancel)
        if not isinstance(observation, Observation):
            return observation
        actions = self._choose(request, observation)
        if isinstance(actions, Refusal):
            return actions
        variants = await variants_of(self.observer, observation, actions, report, cancel)
        if isinstance(variants, Refusal):
            return variants
        chosen = await fastest(self.observer, observation, variants, self.limits, report, cancel)
        if isinstance(chosen, Failure):
            return self._remember(observation, failed_step(observation, actions[0], chosen), observation.text)
        return await self._try(request, observation, chosen, report, cancel)

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
            if not isinstance(step, Step) or (step.failure and not step.failure.about_kernel):
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
        baseline_path: str = "",
        measure: bool,
        first_seed: int = 0,
        priority: Priority = Priority.REQUEST,
        report: Report = silent,
        cancel: asyncio.Event | None = None,
    ) -> TrialResult | Nothing:
        """Verify, and when `measure` time, `text` against its baseline, on seeds counted from `first_seed`.

        Without `baseline` the journal's counts; where it has none, `text` is not compared with itself. `baseline_path`: the
        file that `baseline` was read from, whose imports are those of its own folder.
        """
        observation = self.observe(path, text, kernel)
        if isinstance(observation, Refusal):
            return observation
        workload = workload_of(text, observation.kernel)
        if isinstance(workload, Refusal):
            return workload
        against = baseline if baseline is not None else self.journal.baseline(path, kernel)
        if against is None:
            return Refusal(words.no_baseline(kernel))
        self.workers.expect_trial()
        device = await self.device()
        if isinstance(device, Failure):
            return device
        limits = dataclasses.replace(self.limits, first_seed=first_seed)
        job = Trial(path, against, text, text, workload, measure, limits, baseline_path=baseline_path)
        answer = await self._run_trial(job, report, cancel, priority)
        if isinstance(answer, TrialResult) and against == text:
            caveats = (words.SAME_TEXT, *answer.verdict.caveats)
            answer = dataclasses.replace(answer, verdict=dataclasses.replace(answer.verdict, caveats=caveats))
        if isinstance(answer, Failure) or answer.measurement is None:
            return answer
        original = self.observer.called_as(workload, path, against, kernel)
        return dataclasses.replace(answer, measurement=under_roof(answer.measurement, original, device))

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

    def script(self, path: str, step_id: str | None = None, kernel: str | None = None) -> str | Refusal:
        """A script that compares and times a kept step, the last one unless one is named, against its baseline."""
        from kernelwright.export import script_of

        steps = self.history(path, kernel)
        asked = [s for s in steps if (s.id == step_id if step_id else s.outcome is Outcome.KEPT)]
        step = asked[-1] if asked else None
        if step is None:
            said = f"has no step {step_id}" if step_id else "has no kept step"
            return Refusal(f"The journal {said} of {Path(path).name}, so there is nothing to export.")
        against = step.measurement.baseline_hash if step.measurement is not None else step.before_hash
        return script_of(step, self.journal.text(against), self.journal.text(step.after_hash))

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

    def renamed(self, old: str, new: str) -> None:
        """A file or a folder has another path from now on, and its history with it."""
        self.journal.rename(old, new)

    def reset_baseline(self, path: str, text: str, kernel: str) -> None:
        """From now on `text` is what this kernel is judged against."""
        self.journal.set_baseline(path, kernel, text)

    # The parts of one step.

    def _choose(self, request: Request, observation: Observation) -> tuple[Action, ...] | Refusal:
        """The Action to take, followed by rivals that only a race can rank against it."""
        if request.action is not None:
            return (request.action,)
        if request.strategy is not None:
            actions = registry()[request.strategy].applies(observation)
            if isinstance(actions, Refusal):
                return actions
            new = next((action for action in actions if tried(observation, action) is None), None)
            if new is not None or not request.only_new:
                return (new or actions[0],)
            return Refusal(tried(observation, actions[0]) or "Already tried on this text.")
        ranked = self._policy(observation, candidates(observation))
        if ranked[0].is_stop:
            return Refusal(ranked[0].reason)
        return rivals(observation, ranked)

    async def _try(
        self,
        request: Request,
        observation: Observation,
        variant: Variant,
        report: Report,
        cancel: asyncio.Event | None,
    ) -> Step:
        action, candidate = variant.action, variant.text
        path, text, kernel = observation.path, observation.text, observation.kernel.name
        if (broken := syntax_failure(candidate)) is not None:
            return self._remember(observation, failed_step(observation, action, broken), candidate)
        assert observation.workload is not None
        baseline = self.baseline(path, text, kernel)
        strategy = registry()[action.strategy]
        job = Trial(
            path,
            baseline,
            text,
            candidate,
            observation.workload,
            limits=self._limits_of_a_step,
            promises_kernel=strategy.promises_kernel,
        )
        answer = await self._run_trial(job, report, cancel)
        if not isinstance(answer, TrialResult):
            return self._remember(observation, failed_step(observation, action, answer), candidate)
        lacking = answer.unsteady or strategy.needs_gpu
        outcome, reason = decide(answer, self.settings.min_gain, needs_number=lacking and not request.by_name)
        measurement = answer.measurement
        if measurement is not None:
            original = await self._original(observation, baseline, report, cancel)
            measurement = under_roof(measurement, original, observation.device)
        if cancel is not None and cancel.is_set():  # also after the last worker has answered
            return failed_step(observation, action, endings.CANCELLED)
        step = Step(
            id=new_id(),
            kernel=kernel,
            action=action,
            edits=variant.edits,
            before_hash=digest(text),
            after_hash=digest(candidate),
            outcome=outcome,
            reason=reason,
            verdict=answer.verdict,
            measurement=measurement,
            created=now(),
        )
        return self._remember(observation, step, candidate)

    async def _original(
        self, observation: Observation, baseline: str, report: Report, cancel: asyncio.Event | None
    ) -> Observation | None:
        """The kernel as its baseline is written, called as it was measured; captured where that has not been done yet."""
        if baseline == observation.text:
            return observation
        workload = observation.workload
        assert workload is not None
        original = self.observer.called_as(workload, observation.path, baseline, observation.kernel.name)
        if original is None or original.graph is not None or original.kernel.language is not Language.TORCH:
            return original
        graph = await self.observer.capture(original, report, cancel)
        return dataclasses.replace(original, graph=graph) if isinstance(graph, Graph) else None

    async def _run_trial(
        self, job: Trial, report: Report, cancel: asyncio.Event | None, priority: Priority = Priority.REQUEST
    ) -> TrialResult | Failure:
        report("Verifying")
        patience = _PATIENCE if job.limits.effort is Effort.PARANOID else 1.0
        answer = await self.workers.run(
            job, timeout=self.settings.verify_timeout * patience, report=report, priority=priority, cancel=cancel
        )
        assert isinstance(answer, TrialResult | Failure)
        return answer

    def _remember(self, observation: Observation, step: Step, candidate: str) -> Step:
        """Journal the step, unless it says nothing about the kernel: it was cancelled, or the GPU was busy or gone."""
        if step.failure and not step.failure.about_kernel:
            return step
        path, text, kernel = observation.path, observation.text, observation.kernel.name
        if step.outcome is Outcome.KEPT and self.journal.baseline(path, kernel) is None:
            self.journal.set_baseline(path, kernel, text)
        self.journal.add_step(path, step, text, candidate)
        return step

    @property
    def limits(self) -> Limits:
        settings = self.settings
        return Limits(
            timing_budget=settings.timing_budget,
            threads=settings.threads,
            accept_reduced=settings.accept_reduced_accuracy,
            strict_non_finite=settings.strict_non_finite,
            effort=Effort(settings.effort),
        )

    @property
    def _limits_of_a_step(self) -> Limits:
        """A step is kept for its speedup, which needs the whole gate."""
        limits = self.limits
        return dataclasses.replace(limits, effort=Effort.STANDARD) if limits.effort is Effort.QUICK else limits


def _journal_of(workspace: Path) -> Journal:
    opened = open_when_begun(workspace)
    return open_in_memory(workspace, opened.reason) if isinstance(opened, Refusal) else opened


def _unknown_strategy(request: Request) -> Refusal | None:
    wanted = request.action.strategy if request.action else request.strategy
    if wanted is None or wanted in registry():
        return None
    return Refusal(f"There is no strategy {wanted!r}; choose one of {', '.join(registry())}.")
