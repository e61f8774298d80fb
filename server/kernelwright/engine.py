"""The only place that knows the whole way: observe, choose, rewrite, race, try, keep or reject, remember.

It never touches the user's file. A kept Step carries its Edits; who asked for it applies them.
"""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright import replaying, reversal, words
from kernelwright.attempting import Attempts
from kernelwright.coders import Coder, refuses
from kernelwright.coders.deterministic import Deterministic
from kernelwright.coders.given import Given
from kernelwright.coders.model import Model
from kernelwright.journal import Journal, open_in_memory, open_when_begun
from kernelwright.languages import LanguageSupport
from kernelwright.languages.python import SUPPORT as PYTHON
from kernelwright.macro.policy import Offer, Policy, candidates, menu, offered, rivals
from kernelwright.macro.policy.expected_gain import expected_gain, tried
from kernelwright.macro.strategies import by_id, choices, named, renamed, switched_off, with_id
from kernelwright.macro.strategy import Observation
from kernelwright.models import Provider
from kernelwright.models.account import Account
from kernelwright.observer import Nothing, Observer, Report, run_text, silent
from kernelwright.prompting import action_prompt
from kernelwright.proof.client import Priority, Workers
from kernelwright.proof.jobs import Limits, Trial, TrialResult
from kernelwright.ranking import reranked
from kernelwright.reversal import Reversal
from kernelwright.settings import DEFAULTS, Settings
from kernelwright.steps import beside, best_of, forward_only, rewritten, twice_in_vain, under_roof, with_earlier
from kernelwright.values import (
    NOTHING_SPENT,
    Action,
    Conversation,
    Device,
    Failure,
    Outcome,
    Refusal,
    Step,
    Usage,
    apply,
)

if TYPE_CHECKING:
    from kernelwright.inferring import Inferred

OFF = Refusal("Switched off in the settings; it runs where it is asked for by name.")
_MOST_ATTEMPTS = 3  # at one step
_PATIENCE = 5.0  # times the time of a verification, at effort paranoid


@dataclasses.dataclass(frozen=True)
class Request:
    """What a person asked for: the next step of a kernel, of one strategy when named, or exactly one Action.

    With `only_new` a named strategy does not repeat what was tried on this text. `again`: a kept step to make once more.
    `coders`: who may write the edits; none given: those of the settings.
    """

    path: str
    text: str
    kernel: str
    strategy: str | None = None
    action: Action | None = None
    only_new: bool = False
    again: Step | None = None
    support: LanguageSupport = PYTHON
    coders: tuple[Coder, ...] = ()

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
        provider: Provider | None = None,
    ) -> None:
        """`coders`: who carries Actions out; none given: the deterministic one, and with a `provider` a language model.

        Who made the provider closes it.
        """
        self.settings = settings
        self._workspace = workspace
        self.journal = journal or _journal_of(workspace)
        self.workers = workers or Workers(settings.interpreter or None, cwd=workspace, keep=settings.keep_environment)
        self._lends = False
        self._policy = policy or expected_gain(settings.min_gain)
        self.observer = Observer(settings, self.workers, self.journal)
        self._attempts = Attempts(self.observer)
        self._account = Account(provider, settings, self.journal) if provider is not None else None
        self._coders = coders or self._usual_coders()
        self.observe = self.observer.observe
        self.observe_fully = self.observer.observe_fully
        self.resources = self.observer.resources
        self.device = self.observer.device

    @property
    def known_device(self) -> Device | None:
        """The device as a worker described it; None before one was asked."""
        return self.observer.known_device

    def hand_over(self) -> Workers:
        """The workers, which are the caller's to close from now on; jobs of this engine that run end as they would."""
        self._lends = True
        return self.workers

    async def close(self) -> None:
        if not self._lends:
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
        return self.observer.baseline(path, kernel, text) or text

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
        actions, usage = await self._chosen(request, observation, report, cancel)
        if isinstance(actions, Refusal):
            return actions
        coders = self._coders_of(request, observation)
        if isinstance(coders, Refusal):
            return coders
        attempts = await self._attempts.made(coders, observation, actions, not request.by_name, report, cancel)
        if isinstance(attempts, Step):
            return self._remember(observation, attempts, observation.text)
        if not isinstance(attempts, tuple):
            return attempts
        step = with_earlier(attempts)
        for author in dict.fromkeys(one.variant.author for one in attempts):
            own = tuple(one for one in attempts if one.variant.author == author)
            if author == step.author:
                step = with_earlier(own)
            else:
                self._remember(observation, beside(with_earlier(own), step), best_of(own).variant.text)
        replays = request.again.id if request.again is not None else ""
        step = dataclasses.replace(step, usage=step.usage + usage, replays=replays)
        return self._remember(observation, step, best_of(attempts).variant.text)

    async def prompt(
        self, request: Request, report: Report = silent, cancel: asyncio.Event | None = None
    ) -> Conversation | Nothing:
        """What a language model is asked for the Action that a Request comes to."""
        observation = await self.observe_fully(
            request.path, request.text, request.kernel, report, cancel, request.support
        )
        if not isinstance(observation, Observation):
            return observation
        actions, _ = await self._chosen(request, observation, report, cancel)
        if isinstance(actions, Refusal):
            return actions
        return action_prompt(observation, actions[0], with_id(actions[0].strategy))

    async def autopilot(
        self, request: Request, report: Report = silent, cancel: asyncio.Event | None = None
    ) -> AsyncIterator[Step | Nothing]:
        """Steps until Stop, a budget, or no gain twice; the last item is the reason when it is not a Step."""
        started = asyncio.get_running_loop().time()
        text, in_vain = request.text, list[Step]()
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
                text, in_vain = apply(step.edits, text), []
                continue
            in_vain.append(step)
            if len(in_vain) == 2:
                yield twice_in_vain(in_vain)
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
        workload = observation.support.workload(text, observation.kernel.entry)
        if isinstance(workload, Refusal):
            return workload
        against = baseline if baseline is not None else self.observer.baseline(path, kernel, text)
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
            run_text(observation, against),
            observation.unit.run,
            observation.unit.run,
            workload,
            measure,
            limits,
            forward_only=forward_only(steps),
            baseline_path=baseline_path,
            language=observation.unit.language,
            kernel=kernel,
            rewritten=rewritten(steps),
        )
        answer = await self._attempts.run_trial(job, report, cancel, priority)
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
    ) -> "Inferred | Nothing":
        """Workload lines for what launches a kernel: guesses from the text, of which those are left that ran."""
        from kernelwright import inferring  # with what reads a workspace, which few sessions ask for

        observation = self.observe(path, text, kernel, support=support)
        if isinstance(observation, Refusal):
            return observation
        asked = inferring.Asked(path, text, observation.kernel, support, self._workspace)
        return await inferring.infer(asked, self.workers, self.settings.verify_timeout, self._account, report, cancel)

    def revert(self, path: str, text: str, step_id: str) -> Reversal | Refusal:
        """How `text` goes back to before a kept step; once the edits have been applied, say so with `mark_reverted`."""
        return reversal.of(self.journal, path, text, step_id)

    def script(self, path: str, step_id: str | None = None, kernel: str | None = None) -> str | Refusal:
        """A script that compares and times a kept step, the last one unless one is named, against its baseline."""
        from kernelwright.export import choosing

        return choosing.script(self.journal, path, step_id, kernel)

    def mark_reverted(self, path: str, step_ids: Iterable[str]) -> None:
        """The Steps are no longer in the file: a Reversal was applied, or the editor did not take their edits."""
        reversal.mark(self.journal, path, step_ids)

    def renamed(self, old: str, new: str) -> None:
        """A file or a folder has another path from now on, and its history with it."""
        self.journal.rename(old, new)

    def reset_baseline(self, path: str, text: str, kernel: str) -> None:
        """From now on `text` is what this kernel is judged against."""
        self.journal.set_baseline(path, kernel, text)

    def coder(self, provider: Provider) -> Model:
        """A coder that asks `provider`, within the budget of the settings."""
        return Model(Account(provider, self.settings, self.journal), self.observer)

    @property
    def limits(self) -> Limits:
        return self._attempts.limits

    # The parts of one step.

    def _usual_coders(self) -> tuple[Coder, ...]:
        rules = Deterministic(self.observer)
        if self._account is None:
            return (rules,)
        model = Model(self._account, self.observer)
        return (model, rules) if self.settings.model_order == "before" else (rules, model)

    async def _chosen(
        self, request: Request, observation: Observation, report: Report, cancel: asyncio.Event | None
    ) -> tuple[tuple[Action, ...] | Refusal, Usage]:
        """The Action to take, followed by rivals that only a race can rank against it, and what choosing them took."""
        if request.by_name:
            return await asyncio.to_thread(self._named, request, observation), NOTHING_SPENT
        scored = await asyncio.to_thread(lambda: self._policy(observation, candidates(self.menu(observation))))
        usage = NOTHING_SPENT
        if self._account is not None and self.settings.model_ranks:
            scored, usage = await reranked(self._account, observation, scored, report, cancel)
        return (Refusal(scored[0].reason) if scored[0].is_stop else rivals(observation, scored)), usage

    def _coders_of(self, request: Request, observation: Observation) -> tuple[Coder, ...] | Refusal:
        """Who may write the edits; a kept step that no rule wrote is made again by the edits that it has."""
        step = request.again
        if step is None or replaying.is_written_by_rule(step):
            return request.coders or self._coders
        text = replaying.moved(step, self.journal.text(step.before_hash), observation.text)
        if isinstance(text, Refusal):
            return text
        return (Given(text, step.author, step.edits.summary if step.edits is not None else ""),)

    def _named(self, request: Request, observation: Observation) -> tuple[Action, ...] | Refusal:
        """The Action that was asked for."""
        if request.action is not None:
            return (renamed(request.action),)
        if request.again is not None:
            found = replaying.again(observation, request.again)
            return found if isinstance(found, Refusal) else (found,)
        assert request.strategy is not None
        actions = offered(request.strategy, observation)
        if isinstance(actions, Refusal):
            return actions
        new = next((action for action in actions if tried(observation, action) is None), None)
        if new is not None or not request.only_new:
            return (new or actions[0],)
        return Refusal(tried(observation, actions[0]) or "Already tried on this text.")

    def _remember(self, observation: Observation, step: Step, candidate: str) -> Step:
        """Journal the step, unless it says nothing about the kernel: it was cancelled, or the GPU was busy or gone."""
        if step.failure and not step.failure.about_kernel:
            return step
        path, text, kernel = observation.path, observation.text, observation.kernel.name
        if step.outcome is Outcome.KEPT and self.journal.baseline(path, kernel) is None:
            self.journal.set_baseline(path, kernel, text)
        self.journal.add_step(path, step, text, candidate)
        return step


def _journal_of(workspace: Path) -> Journal:
    opened = open_when_begun(workspace)
    return open_in_memory(workspace, opened.reason) if isinstance(opened, Refusal) else opened


def _headed(head: str, report: Report) -> Report:
    return lambda stage: report(head + stage)


def _unknown_strategy(request: Request) -> Refusal | None:
    wanted = renamed(request.action).strategy if request.action else request.strategy
    if wanted is None or (by_id(wanted) if request.action else named(wanted)):
        return None
    return Refusal(f"There is no strategy {wanted!r}; choose one of {choices()}.")
