"""What was tried: Actions, Steps and Recipes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kernelwright.values.conversation import NOTHING_SPENT, Usage
from kernelwright.values.opts import Opt
from kernelwright.values.proof import Failure, FailureKind, Measurement, Verdict, VerdictStatus
from kernelwright.values.text import Edits, Region
from kernelwright.values.workload import KeptLines


@dataclass(frozen=True)
class Action:
    """A Strategy on a Region with parameters: what a policy chooses.

    `opts`: the schedule, and `variant`: the summary of the variant, where only this one is wanted.
    """

    strategy: str
    region: Region
    params: Mapping[str, int | float | str] = field(default_factory=dict)
    opts: tuple[Opt, ...] = ()
    variant: str = ""


DETERMINISTIC = "deterministic"  # the author of what is written without a model
_OF_THE_VARIANT = (FailureKind.COMPILE_FAILED, FailureKind.CRASHED, FailureKind.EDIT_REFUSED)

STOP = Action(strategy="stop", region=Region(0, 0, ""))


class Outcome(StrEnum):
    KEPT = "kept"
    REJECTED = "rejected"
    REVERTED = "reverted"


@dataclass(frozen=True)
class Step:
    """One Action carried out, with its evidence. `measurement` is None when speed was not measured: `reason` says why.

    `author`: the coder that wrote the edits. `earlier`: how its attempts before this one ended, in words, oldest first.
    `usage`: what asking language models for all of them took. `replays`: the id of the Step that this one has done again.
    `lines`: the workload lines of the journal that it was judged by.
    """

    id: str
    kernel: str
    action: Action
    edits: Edits | None
    before_hash: str
    after_hash: str
    outcome: Outcome
    reason: str
    verdict: Verdict | None = None
    measurement: Measurement | None = None
    failure: Failure | None = None
    created: str = ""  # ISO 8601, UTC
    author: str = DETERMINISTIC
    earlier: tuple[str, ...] = ()
    usage: Usage = NOTHING_SPENT
    replays: str = ""
    lines: KeptLines = ()

    @property
    def refused(self) -> bool:
        """Whether another variant may fare better: a check failed, or this one did not compile, crashed, or is no edit."""
        if self.failure is not None:
            return self.failure.kind in _OF_THE_VARIANT
        return self.verdict is not None and self.verdict.status is VerdictStatus.FAILED

    @property
    def chosen(self) -> Action:
        """The Action with the variant that was chosen: its schedule, or its summary where it has none."""
        if self.edits is None:
            return self.action
        opts = self.edits.opts
        return replace(self.action, opts=opts, variant="" if opts else self.edits.summary)


@dataclass(frozen=True)
class Recipe:
    """The kept Steps of a Kernel in order, whose chosen Actions can be replayed on another text."""

    kernel: str
    steps: tuple[Step, ...]

    @property
    def actions(self) -> tuple[Action, ...]:
        return tuple(step.chosen for step in self.steps)
