"""The value for "this cannot be done, and here is why"."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """Why something does not apply, in one sentence for a person.

    `line` (from 0) is the place that stands in the way. `pending` means that the answer needs the op graph, which has
    not been captured yet: an editor may offer the strategy, and the engine decides after the capture.
    """

    reason: str
    line: int | None = None
    pending: bool = False
