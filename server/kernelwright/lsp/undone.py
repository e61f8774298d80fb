"""Steps that the editor's undo took out of the text: the journal does not see it, but it knows the text before each step."""

from collections.abc import Iterable

from kernelwright.values import Outcome, Step


def standing(steps: Iterable[Step], text_hash: str) -> tuple[Step, ...]:
    """Of the steps of a file, in order, the kept ones that the text with this hash still has.

    A text that was there before a step, and is there again, has neither that step nor a later one.
    """
    found: list[Step] = []
    for step in steps:
        if step.outcome is Outcome.KEPT:
            found = [*_before(found, step.before_hash), step]
    return tuple(_before(found, text_hash))


def undone(steps: Iterable[Step], text_hash: str) -> tuple[Step, ...]:
    """The kept steps that the text no longer has."""
    steps = tuple(steps)
    left = {step.id for step in standing(steps, text_hash)}
    return tuple(step for step in steps if step.outcome is Outcome.KEPT and step.id not in left)


def _before(steps: list[Step], text_hash: str) -> list[Step]:
    place = next((i for i, step in enumerate(steps) if step.before_hash == text_hash), len(steps))
    return steps[:place]
