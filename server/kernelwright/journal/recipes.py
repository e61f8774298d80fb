"""Which of a kernel's steps its text has come from, in order."""

from collections.abc import Iterable

from kernelwright.values import Outcome, Recipe, Step


def recipe_of(kernel: str, steps: Iterable[Step]) -> Recipe:
    """The kept steps among `steps`, oldest first.

    One that was done again has its later self in its place. Where a step began on a text that there was before earlier
    ones, these were given up.
    """
    found: list[Step] = []
    for step in steps:
        if step.outcome is not Outcome.KEPT:
            continue
        place = next((i for i, one in enumerate(found) if one.id == step.replays), None)
        if place is not None:
            found[place] = step
        else:
            given_up = next((i for i, one in enumerate(found) if one.before_hash == step.before_hash), len(found))
            found = [*found[:given_up], step]
    return Recipe(kernel, tuple(found))
