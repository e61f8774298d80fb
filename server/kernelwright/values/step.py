"""What was tried: Actions, Steps and Recipes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kernelwright.values.proof import Failure, Measurement, Verdict
from kernelwright.values.text import Edits, Region


@dataclass(frozen=True)
class Action:
    """A Strategy on a Region with parameters: what a policy chooses."""

    strategy: str
    region: Region
    params: Mapping[str, int | float | str] = field(default_factory=dict)


DETERMINISTIC = "deterministic"  # the author of what is written without a model
STOP = Action(strategy="stop", region=Region(0, 0, ""))


class Outcome(StrEnum):
    KEPT = "kept"
    REJECTED = "rejected"
    REVERTED = "reverted"


@dataclass(frozen=True)
class Step:
    """One Action carried out, with its evidence. `measurement` is None when speed was not measured: `reason` says why.

    `author`: the coder that wrote the edits. `earlier`: how its attempts before this one ended, in words, oldest first.
    `cost`: US dollars that writing all of them took.
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
    cost: float = 0.0


@dataclass(frozen=True)
class Recipe:
    """The kept Actions of a Kernel in order: replayable on another text."""

    kernel: str
    actions: tuple[Action, ...]
