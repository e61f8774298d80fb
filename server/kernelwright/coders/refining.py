"""When a coder that learns from evidence stops: rounds, a gain that is kept, and the distance to the roofline bound.

A result at the bound cannot be made much faster by anybody ("speed of light"): how much room there is decides how many
rounds are worth their price.
"""

import math

from kernelwright.values import Outcome, Step

NEAR = 1.1  # times the least time: nothing more to win
_ROOMY = 2.0  # times the least time: all rounds are worth it


def goes_on(steps: tuple[Step, ...], most: int) -> bool:
    """Whether another round is worth asking for after `steps`, the earlier ones of the same Action, at most `most`."""
    if not steps:
        return True
    if steps[-1].failure is not None and not steps[-1].failure.about_kernel:
        return False
    distances = [distance for step in steps if (distance := distance_to_bound(step)) is not None]
    if not distances:
        done = any(step.outcome is Outcome.KEPT for step in steps) or _is_unmeasured(steps[-1])
        return not done and len(steps) < most
    return min(distances) > NEAR and len(steps) < rounds(min(distances), most)


def _is_unmeasured(step: Step) -> bool:
    """Whether it is right, and nobody can say how fast: another round would teach nothing."""
    return step.verdict is not None and step.verdict.passed and step.measurement is None


def rounds(distance: float, most: int) -> int:
    """How many rounds are worth it at `distance`, the measured time over the least time: all from 2 on, at least one."""
    share = (distance - NEAR) / (_ROOMY - NEAR)
    return max(1, min(most, math.ceil(most * share)))


def distance_to_bound(step: Step) -> float | None:
    """The time of the better one of a verified step's texts over the roofline's least time; None where either is not known."""
    measured = step.measurement
    if measured is None or step.verdict is None or not step.verdict.passed:
        return None
    least = measured.roof.least_ms if measured.roof is not None else measured.floor_ms
    if not least:
        return None
    better = measured.candidate if step.outcome is Outcome.KEPT else measured.previous
    return better.median_ms / least
