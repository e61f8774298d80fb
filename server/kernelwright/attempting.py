"""Attempts at one step: each coder writes, variants are raced, and the gate and the clock try the best ones."""

import asyncio
import dataclasses

from kernelwright.coders import Attempt, Coder, Variant, written
from kernelwright.compiled import compiled, is_asked
from kernelwright.examining import counterexample
from kernelwright.languages.kept import kept_by
from kernelwright.macro.strategies import with_id
from kernelwright.macro.strategy import Observation
from kernelwright.observer import Nothing, Observer, Report, run_text
from kernelwright.proof import endings
from kernelwright.proof.client import Priority
from kernelwright.proof.jobs import Limits, Trial, TrialResult
from kernelwright.racing import ranked
from kernelwright.steps import (
    decide,
    failed_step,
    failure_of,
    forward_only,
    new_id,
    now,
    of_files,
    rewritten,
    syntax_failure,
    too_inaccurate,
    under_roof,
)
from kernelwright.values import (
    DETERMINISTIC,
    Action,
    Effort,
    Failure,
    Graph,
    KeptLines,
    Language,
    Outcome,
    Refusal,
    Step,
    WorkloadSource,
    digest,
    page_names,
)

_PATIENCE = 5.0  # times the time of a verification, at effort paranoid


@dataclasses.dataclass(frozen=True)
class Attempts:
    """Makes attempts and forgets them; the engine keeps what they come to."""

    observer: Observer

    async def made(
        self,
        coders: tuple[Coder, ...],
        observation: Observation,
        actions: tuple[Action, ...],
        needs_number: bool,
        report: Report,
        cancel: asyncio.Event | None,
    ) -> tuple[Attempt, ...] | Step | Nothing:
        """Every coder's attempts at `actions`, one coder after the other; a Step, or why, where none could be tried.

        With one attempt kept the coders after it have nothing left to do, unless the settings ask for both.
        """
        attempts: tuple[Attempt, ...] = ()
        nothing: Step | Nothing | None = None
        for coder in coders:
            if _is_kept(attempts) and self.observer.settings.model_order != "both":
                break
            answer = await self._made_by(coder, observation, actions, attempts, needs_number, report, cancel)
            if isinstance(answer, tuple):
                attempts += answer
            else:
                nothing = answer  # the last coder's word: it is the one that could have helped
                if isinstance(answer, Refusal):
                    report(answer.reason)
            if cancel is not None and cancel.is_set():
                break
        return attempts or nothing or Refusal("There is nothing to carry out.")

    async def _made_by(
        self,
        coder: Coder,
        observation: Observation,
        actions: tuple[Action, ...],
        earlier: tuple[Attempt, ...],
        needs_number: bool,
        report: Report,
        cancel: asyncio.Event | None,
    ) -> tuple[Attempt, ...] | Step | Nothing:
        """What one coder comes to; `earlier`: the attempts of those before it."""
        attempts: tuple[Attempt, ...] = ()
        chosen = tuple((with_id(action.strategy), action) for action in (actions if coder.races else actions[:1]))
        while coder.goes_on(earlier + attempts):
            variants = await written(coder, observation, chosen, earlier + attempts, report, cancel)
            if isinstance(variants, Failure):
                return failed_step(observation, actions[0], variants)
            if isinstance(variants, Refusal):
                return attempts or variants
            order = await ranked(self.observer, observation, variants, self.limits, report, cancel) if variants else ()
            if isinstance(order, Failure):
                return failed_step(observation, actions[0], order)
            before = len(attempts)
            for variant in order:
                if not coder.goes_on(earlier + attempts):
                    break
                if not too_inaccurate(variant, attempts):
                    attempts += (Attempt(variant, await self._try(observation, variant, needs_number, report, cancel)),)
            if len(attempts) == before:
                break
        return attempts

    async def _try(
        self,
        observation: Observation,
        variant: Variant,
        needs_number: bool,
        report: Report,
        cancel: asyncio.Event | None,
    ) -> Step:
        action, candidate = variant.action, variant.text
        path, text, kernel = observation.path, observation.text, observation.kernel.name
        if variant.refusal is not None:
            return failed_step(observation, action, failure_of(variant.refusal))
        if page_names(candidate) != page_names(text):
            return failed_step(observation, action, failure_of(Refusal("The edit would change which file holds what.")))
        if (broken := syntax_failure(observation.support, candidate)) is not None:
            return failed_step(observation, action, broken)
        assert observation.workload is not None
        if variant.author == DETERMINISTIC and (wrong := await _counterexample(observation, candidate)) is not None:
            return failed_step(observation, action, failure_of(wrong))
        baseline = self.observer.baseline(path, kernel, text) or text
        strategy, earlier = with_id(action.strategy), self.observer.journal.steps(path, kernel)
        job = Trial(
            path,
            run_text(observation, baseline),
            run_text(observation, text),
            run_text(observation, candidate),
            observation.workload,
            limits=self._limits_of_a_step,
            promises_kernel=strategy.promises_kernel,
            forward_only=forward_only(earlier),
            language=observation.unit.language,
            rewritten=variant.author == DETERMINISTIC or rewritten(earlier),
        )
        answer = await self.run_trial(job, report, cancel)
        if not isinstance(answer, TrialResult):
            return failed_step(observation, action, answer)
        outcome, reason = decide(answer, self.observer.settings.min_gain, needs_number=needs_number)
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
            lines=_lines(observation),
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

    async def run_trial(
        self, job: Trial, report: Report, cancel: asyncio.Event | None, priority: Priority = Priority.REQUEST
    ) -> TrialResult | Failure:
        report("Verifying")
        if is_asked(self.observer, job):
            self.observer.workers.expect_compile()
        patience = _PATIENCE if job.limits.effort is Effort.PARANOID else 1.0
        answer = await self.observer.workers.run(
            job,
            timeout=self.observer.settings.verify_timeout * patience,
            report=report,
            priority=priority,
            cancel=cancel,
        )
        assert isinstance(answer, TrialResult | Failure)
        if isinstance(answer, TrialResult) and answer.verdict.passed and is_asked(self.observer, job):
            answer = await compiled(self.observer, job, answer, report, cancel)
        return of_files(answer, job.candidate)

    @property
    def limits(self) -> Limits:
        settings = self.observer.settings
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


async def _counterexample(observation: Observation, candidate: str) -> Refusal | None:
    """What z3 says against a rewrite of CUDA kernels, ahead of the gate."""
    if observation.kernel.language is not Language.CUDA or observation.workload is None:
        return None
    before, after = (run_text(observation, text) for text in (observation.text, candidate))
    return await counterexample(before, after, [case.text for case in observation.workload.cases])


def _lines(observation: Observation) -> KeptLines:
    """The journal's lines that the kernel is called by, none where its file has lines or inputs of its own."""
    workload = observation.workload
    if workload is None or workload.source is not WorkloadSource.JOURNAL:
        return ()
    called = {case.text for case in workload.cases}
    return tuple(one for one in kept_by(observation.support) if not called.isdisjoint(one[1]))


def _is_kept(attempts: tuple[Attempt, ...]) -> bool:
    return any(one.step.outcome is Outcome.KEPT for one in attempts)
