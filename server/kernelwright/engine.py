"""The only place that knows the whole way: observe, choose, rewrite, race, try, keep or reject, remember.

It never touches the user's file. A kept Step carries its Edits; who asked for it applies them.
"""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from kernelwright import inferring, replaying, reversal, words
from kernelwright.coders import Attempt, Coder, Variant, refuses, written
from kernelwright.coders.deterministic import Deterministic
from kernelwright.inferring import Inferred
from kernelwright.journal import Journal, open_in_memory, open_when_begun
from kernelwright.languages import LanguageSupport
from kernelwright.languages.python import SUPPORT as PYTHON
from kernelwright.macro.policy import Offer, Policy, candidates, menu, offered, rivals
from kernelwright.macro.policy.expected_gain import expected_gain, tried
from kernelwright.macro.strategies import choices, named, registry, renamed, switched_off
from kernelwright.macro.strategy import Observation
from kernelwright.observer import Nothing, Observer, Report, silent
from kernelwright.proof import endings
from kernelwright.proof.client import Priority, Workers
from kernelwright.proof.jobs import (
    Limits,
    Trial,
    TrialResult,
    TriedLines,
)
from kernelwright.racing import ranked
from kernelwright.reversal import Reversal
from kernelwright.settings import DEFAULTS, Settings
from kernelwright.steps import (
    decide,
    failed_step,
    forward_only,
    new_id,
    now,
    refused_by_the_gate,
    rewritten,
    syntax_failure,
    too_inaccurate,
    under_roof,
    with_earlier,
)
from kernelwright.values import (
    DETERMINISTIC,
    Action,
    Device,
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

OFF = Refusal("Switched off in the settings; it runs where it is asked for by name.")
_MOST_ATTEMPTS = 3  # at one step
_PATIENCE = 5.0  # times the time of a verification, at effort paranoid


@dataclasses.dataclass(frozen=True)
class Request:
    """What a person asked for: the next step of a kernel, of one strategy when named, or exactly one Action.

    With `only_new` a named strategy does not repeat what was tried on this text. `again`: a kept step to make once more.
    `support` reads the document's language.
    """

    path: str
    text: str
    kernel: str
    strategy: str | None = None
    action: Action | None = None
    only_new: bool = False
    again: Step | None = None
    support: LanguageSupport = PYTHON

    @property
    def by_name(self) -> bool:
        return self.strategy is not None or self.action is not None or self.again is not None


class Engine:
    """Steps for the kernels of one workspace. All state on disk is the journal's; graphs are remembered by text."""

    def __init__(
        self,
        workspace: Path,
        settings: Settings = DEFAULTS,
        workers: Workers | None = None,
        journal: Journal | None = None,
        policy: Policy | None = None,
        coders: tuple[Coder, ...] = (),
    ) -> None:
        """`coders`: who carries Actions out, the first that can; none given: the deterministic one."""
        self.settings = settings
        self.journal = journal or _journal_of(workspace)
        self.workers = workers or Workers(settings.interpreter or None, cwd=workspace, keep=settings.keep_environment)
        self._policy = policy or expected_gain(settings.min_gain)
        self.observer = Observer(settings, self.workers, self.journal)
        self._coders: tuple[Coder, ...] = coders or (Deterministic(self.observer),)
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
        """What each strategy of the kernel's language offers, or why it does not: the settings may have switched it off."""
        off, _ = switched_off(self.settings.disabled_strategies)
        return menu(observation, lambda one: OFF if one.id in off else refuses(self._coders, one))

    def history(self, path: str, kernel: str | None = None) -> tuple[Step, ...]:
        return self.journal.steps(path, kernel)

    def baseline(self, path: str, text: str, kernel: str) -> str:
        """The text that correctness and speedup are judged against: `text` itself before the first kept Step."""
        return self.journal.baseline(path, kernel) or text

    async def optimize(
        self, request: Request, report: Report = silent, cancel: asyncio.Event | None = None
    ) -> Step | Nothing:
        """One step: choose, rewrite, race the variants, try the best, decide, remember.

        Where the gate refuses a variant the next one is tried, or what the coder makes of that.
        """
        if (unknown := _unknown_strategy(request)) is not None:
            return unknown
        observation = await self.observe_fully(
            request.path, request.text, request.kernel, report, cancel, request.support
        )
        if not isinstance(observation, Observation):
            return observation
        actions = await asyncio.to_thread(self._choose, request, observation)
        if isinstance(actions, Refusal):
            return actions
        attempts = await self._attempted(request, observation, actions, report, cancel)
        if not isinstance(attempts, tuple):
            return attempts
        step = with_earlier(attempts)
        if request.again is not None:
            step = dataclasses.replace(step, replays=request.again.id)
        return self._remember(observation, step, attempts[-1].variant.text)

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
            following = dataclasses.replace(request, text=text, only_new=number > 0)
            step = await self.optimize(following, _headed(f"Step {number + 1}: ", report), cancel)
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

    async def replay(
        self, request: Request, report: Report = silent, cancel: asyncio.Event | None = None
    ) -> AsyncIterator[Step | Nothing]:
        """The kept steps of a kernel once more, in order; a Refusal in the place of one that is left out."""
        recipe = self.journal.recipe(request.path, request.kernel)
        made = lambda step, text, report: self.optimize(
            dataclasses.replace(request, text=text, again=step), report, cancel
        )
        async for answer in replaying.replayed(recipe, request.text, made, report):
            yield answer

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
        support: LanguageSupport = PYTHON,
        report: Report = silent,
        cancel: asyncio.Event | None = None,
    ) -> TrialResult | Nothing:
        """Verify, and when `measure` time, `text` against its baseline, on seeds counted from `first_seed`.

        Without `baseline` the journal's counts; where it has none, `text` is not compared with itself. `baseline_path`: the
        file that `baseline` was read from, whose imports are those of its own folder.
        """
        observation = self.observe(path, text, kernel, support=support)
        if isinstance(observation, Refusal):
            return observation
        workload = support.workload(text, observation.kernel.entry)
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
        steps = self.journal.steps(path, kernel)
        job = Trial(
            path,
            against,
            text,
            text,
            workload,
            measure,
            limits,
            forward_only=forward_only(steps),
            baseline_path=baseline_path,
            language=support.id,
            kernel=kernel,
            rewritten=rewritten(steps),
        )
        answer = await self._run_trial(job, report, cancel, priority)
        if isinstance(answer, TrialResult) and against == text:
            caveats = (words.SAME_TEXT, *answer.verdict.caveats)
            answer = dataclasses.replace(answer, verdict=dataclasses.replace(answer.verdict, caveats=caveats))
        if isinstance(answer, Failure) or answer.measurement is None:
            return answer
        of_baseline = self.observer.called_as(workload, path, against, kernel, support)
        return dataclasses.replace(answer, measurement=under_roof(answer.measurement, of_baseline, device))

    async def infer(
        self,
        path: str,
        text: str,
        kernel: str,
        *,
        support: LanguageSupport = PYTHON,
        report: Report = silent,
        cancel: asyncio.Event | None = None,
    ) -> Inferred | Nothing:
        """Workload lines for what launches a kernel: guesses from the text, of which those are left that ran."""
        observation = self.observe(path, text, kernel, support=support)
        if isinstance(observation, Refusal):
            return observation
        tried = inferring.job_for(path, text, observation.kernel, support)
        if isinstance(tried, Refusal):
            return tried
        job, sign = tried
        report("Trying workload lines")
        limit = job.budget + self.settings.verify_timeout  # which is what importing the text may take
        answer = await self.workers.run(job, timeout=limit, report=report, cancel=cancel)
        assert isinstance(answer, TriedLines | Failure)
        return answer if isinstance(answer, Failure) else inferring.of(answer, sign)

    def revert(self, path: str, text: str, step_id: str) -> Reversal | Refusal:
        """How `text` goes back to before a kept step; once the edits have been applied, say so with `mark_reverted`."""
        return reversal.of(self.journal, path, text, step_id)

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
        """The Steps are no longer in the file: a Reversal was applied, or the editor did not take their edits."""
        reversal.mark(self.journal, path, step_ids)

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
            return (renamed(request.action),)
        if request.again is not None:
            found = replaying.again(observation, request.again)
            return found if isinstance(found, Refusal) else (found,)
        if request.strategy is not None:
            actions = offered(request.strategy, observation)
            if isinstance(actions, Refusal):
                return actions
            new = next((action for action in actions if tried(observation, action) is None), None)
            if new is not None or not request.only_new:
                return (new or actions[0],)
            return Refusal(tried(observation, actions[0]) or "Already tried on this text.")
        scored = self._policy(observation, candidates(self.menu(observation)))
        if scored[0].is_stop:
            return Refusal(scored[0].reason)
        return rivals(observation, scored)

    async def _attempted(
        self,
        request: Request,
        observation: Observation,
        actions: tuple[Action, ...],
        report: Report,
        cancel: asyncio.Event | None,
    ) -> tuple[Attempt, ...] | Step | Refusal:
        """Try variants of `actions` until the gate refuses one no more; a Step or Refusal where none could be tried."""
        attempts: tuple[Attempt, ...] = ()
        chosen = tuple((registry()[action.strategy], action) for action in actions)
        while len(attempts) < _MOST_ATTEMPTS:
            variants = await written(self._coders, observation, chosen, attempts, report, cancel)
            if isinstance(variants, Refusal):
                return attempts or variants
            if not variants:
                return attempts or Refusal("There is nothing to carry out.")
            order = await ranked(self.observer, observation, variants, self.limits, report, cancel)
            if isinstance(order, Failure):
                return self._remember(observation, failed_step(observation, actions[0], order), observation.text)
            tried_before = len(attempts)
            for variant in order:
                if len(attempts) == _MOST_ATTEMPTS or too_inaccurate(variant, attempts):
                    continue
                step = await self._try(request, observation, variant, report, cancel)
                attempts += (Attempt(variant, step),)
                if not refused_by_the_gate(step):
                    return attempts
            if len(attempts) == tried_before:
                return attempts
        return attempts

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
        if (broken := syntax_failure(observation.support, candidate)) is not None:
            return failed_step(observation, action, broken)
        assert observation.workload is not None
        baseline = self.baseline(path, text, kernel)
        strategy, earlier = registry()[action.strategy], self.journal.steps(path, kernel)
        job = Trial(
            path,
            baseline,
            text,
            candidate,
            observation.workload,
            limits=self._limits_of_a_step,
            promises_kernel=strategy.promises_kernel,
            forward_only=forward_only(earlier),
            language=observation.support.id,
            rewritten=variant.author == DETERMINISTIC or rewritten(earlier),
        )
        answer = await self._run_trial(job, report, cancel)
        if not isinstance(answer, TrialResult):
            return failed_step(observation, action, answer)
        outcome, reason = decide(answer, self.settings.min_gain, needs_number=not request.by_name)
        measurement = answer.measurement
        if measurement is not None:
            of_baseline = await self._of_baseline(observation, baseline, report, cancel)
            measurement = under_roof(measurement, of_baseline, observation.device)
        if cancel is not None and cancel.is_set():  # also after the last worker has answered
            return failed_step(observation, action, endings.CANCELLED)
        return Step(
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

    async def _of_baseline(
        self, observation: Observation, baseline: str, report: Report, cancel: asyncio.Event | None
    ) -> Observation | None:
        """The kernel as its baseline is written, called as it was measured; captured where that has not been done yet."""
        if baseline == observation.text:
            return observation
        workload = observation.workload
        assert workload is not None
        found = self.observer.called_as(
            workload, observation.path, baseline, observation.kernel.name, observation.support
        )
        if found is None or found.graph is not None or found.kernel.language is not Language.TORCH:
            return found
        graph = await self.observer.capture(found, report, cancel)
        return dataclasses.replace(found, graph=graph) if isinstance(graph, Graph) else None

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


def _headed(head: str, report: Report) -> Report:
    """Reports with `head` before each stage."""
    return lambda stage: report(head + stage)


def _unknown_strategy(request: Request) -> Refusal | None:
    wanted = renamed(request.action).strategy if request.action else request.strategy
    if wanted is None or (wanted in registry() if request.action else named(wanted)):
        return None
    return Refusal(f"There is no strategy {wanted!r}; choose one of {choices()}.")
