"""The judge's own clock: was work done that the clock in the candidate's process did not see?

Between the judge's request and the reply lie the timed calls and nothing else. What takes longer there than the process
reports, and longer than at the baseline, was hidden.
"""

import math
import time
from collections.abc import Callable, Mapping

import numpy as np

from kernelwright.proof.worker.clock.samples import TWIN, Busy
from kernelwright.proof.worker.clock.series import Series
from kernelwright.proof.worker.clock.statistics import ratio_of_medians
from kernelwright.proof.worker.rejected import Rejected

NAME = "judge-clock"
_LEAST_HIDDEN = {"cuda": 0.15, "cpu": 0.5}  # milliseconds; how far two processes' replies differ on a quiet machine
_UNEVEN = {"cuda": 0.2, "cpu": 0.0}  # and by which share, where they run on cores that are not alike
_HIDDEN_SHARE = 0.2  # of the time that the host reports
_RESIDUAL_MS = 0.05  # waiting for an idle device takes a few microseconds
_SHARE = 0.4  # hidden in each call: the sample is another one than those that gave the time
_COMPARED = 8, 16, 24  # samples of many calls, where single ones do not show a gain: more where fewer do not either
_ASKED = 16  # times before a difference counts as hidden work
_LATER = 9  # samples, whether the calls are as fast as they were
_PAUSE = 0.008  # seconds before the second time, twice that before the third, …: a neighbour is busy for some time


def complete(one: Series) -> None:
    """Work that is still running after the end of every sample was never timed. Raises Rejected."""
    left, typical = min(one.residual_ms), one.typical_ms
    if left > _RESIDUAL_MS + 0.2 * typical:
        detail = f"work went on for {left:.3g} ms after the timed call: it runs on a stream that nothing waits for"
        raise Rejected("timing-complete", "while timing", detail)


def nothing_hidden(series: Mapping[str, Series], device: str) -> None:
    """More of the judge's time beside the reported one than at the baseline is hidden work. Raises Rejected, Busy."""

    def hidden_beside(own: Series, base: Series) -> float:
        def around(one: Series) -> float:
            """What surrounds as many calls, each on a copy of the inputs of its own; a sample that is not kept."""
            taken, outside = one.timed(own.batch)
            return outside - taken.ms * own.batch

        reported = own.typical_ms * own.batch
        # The least of all samples: what delays some replies, on a busy machine most, is not work of every call.
        of_own, of_base = min(own.outside_ms), min(base.outside_ms) if base.batch == own.batch else around(base)
        for attempt in range(_ASKED):
            time.sleep(attempt * _PAUSE)
            hidden = of_own - of_base
            if hidden <= max(_tolerated(base, device), _HIDDEN_SHARE * reported):
                return 0.0
            of_own, of_base = min(of_own, around(own)), min(of_base, around(base))
        return hidden

    _refuse_alone(series, hidden_beside)


def short_calls_agree(series: Mapping[str, Series], device: str, known_ms: float = math.inf) -> None:
    """Calls too short for the judge to see one: many of them in a sample, measured from outside. Raises Rejected, Busy.

    What many of the candidate's calls should take follows from what it reported of one, and from the baseline's many beside
    one of its own: what comes before and after them (the late data, the answer's way) by a difference, as does the flush
    before each on a GPU, up to the share by which cores differ; on the CPU the calls themselves by a factor, since a busy
    neighbour slows both alike. `known_ms`: what one of many of the candidate's calls took from outside, where that is known
    already.
    """
    candidate = series["candidate"]

    def hidden_beside(own: Series, base: Series) -> float:
        reported, of_base = own.typical_ms, base.typical_ms
        calls, copies = own.many(device)
        allowed = _tolerated(base, device) / calls + _SHARE * reported
        allowed += _HIDDEN_SHARE * abs(reported - of_base) if device == "cuda" else 0.0

        def many(one: Series) -> tuple[float, float]:
            """Milliseconds of one of them from outside, and by its own clock."""
            taken, outside = one.timed(calls, copies)
            return outside / calls, taken.ms

        outside = known_ms if own is candidate and known_ms < math.inf else many(own)[0]
        least = many(base)
        for attempt in range(_ASKED):
            time.sleep(attempt * _PAUSE)
            outside_base, inside_base = least
            slower = reported * max(inside_base / of_base - 1, 0) + outside_base - inside_base
            # Where eager calls wait for the host, the baseline's may be faster now than while it was timed.
            beside = outside_base - min(of_base, inside_base) if device == "cuda" else slower
            hidden = outside - reported - beside
            if hidden <= allowed + _UNEVEN[device] * max(beside, 0.0):
                return 0.0
            outside, least = min(outside, many(own)[0]), min(least, many(base))
        return hidden

    if candidate.typical_ms * candidate.batch * _HIDDEN_SHARE <= _tolerated(series["baseline"], device):
        _refuse_alone(series, hidden_beside)


def unseen_gains(series: Mapping[str, Series], device: str, apart: float = 1.0) -> tuple[str, ...]:
    """Over which contestants the candidate reports a gain that the judge's own clock does not show.

    It shows one that is for certain larger than what a process may hide, and one that is there between request and reply: what
    surrounds the calls is alike for both, and cancels. Where single samples are too short for that, many calls in one are
    compared. A ratio counts only beyond `apart`, by which two processes with the same text differ: to luck of that kind a
    process could add what it may hide.
    """
    candidate = series["candidate"]

    def shown(base: Series) -> bool:
        if base.typical_ms <= candidate.typical_ms:
            return True
        certain = ratio_of_medians(np.array(base.ms), np.array(candidate.ms)).low / apart
        if (certain - 1) * candidate.typical_ms > _slack(candidate, base, device):
            return True
        pair = (base, candidate)
        from_outside = [np.array(one.outside_ms) + np.array(one.ms) * one.batch for one in pair]
        if base.batch == candidate.batch and ratio_of_medians(*from_outside).low > apart:
            return True
        (calls, copies), took = base.many(device), [[], []]
        for enough in _COMPARED:
            while len(took[0]) < enough:
                for one, seen in zip(pair, took, strict=True):
                    seen.append(one.timed(calls, copies)[1])
            if ratio_of_medians(*map(np.array, took)).low > apart:
                return True
        return False

    return tuple(name for name in ("baseline", "previous") if name in series and not shown(series[name]))


def _slack(own: Series, base: Series, device: str) -> float:
    """Milliseconds a call that `nothing_hidden` and `short_calls_agree` let a process hide."""
    reported, tolerated = own.typical_ms, _tolerated(base, device)
    if reported * own.batch * _HIDDEN_SHARE > tolerated:
        return _HIDDEN_SHARE * reported
    share = _HIDDEN_SHARE * abs(reported - base.typical_ms) if device == "cuda" else 0.0
    share += _UNEVEN[device] * max(min(base.outside_ms), 0.0) / base.batch
    return min(tolerated / own.batch, tolerated / own.many(device)[0] + _SHARE * reported + share)


def _tolerated(base: Series, device: str) -> float:
    """Milliseconds by which the replies of an honest process may be later than the baseline's."""
    return _LEAST_HIDDEN[device] + _UNEVEN[device] * max(min(base.outside_ms), 0.0)


def _refuse_alone(series: Mapping[str, Series], hidden_beside: Callable[[Series, Series], float]) -> None:
    """Raise Rejected for what the candidate hides, but Busy where the baseline seems to hide something, too.

    Busy as well where the candidate's own clock shows longer calls now than when they were timed: it hides none of that.
    """
    candidate, baseline, twin = series["candidate"], series["baseline"], series.get(TWIN)
    hidden = hidden_beside(candidate, baseline)
    if not hidden:
        return
    now = float(np.median([candidate.timed(candidate.batch)[0].ms for _ in range(_LATER)]))
    if now > (1 + _SHARE) * candidate.typical_ms:
        raise Busy(
            "Speed not measured: calls take longer now than while they were timed; this machine is too busy to time on."
        )
    if twin is not None and (hidden_beside(twin, baseline) or hidden_beside(baseline, twin)):
        raise Busy(
            "Speed not measured: two processes with the same text answer at different speed; this machine is too busy to "
            "time on."
        )
    detail = (
        f"a call took {hidden:.3g} ms longer from outside than the {candidate.typical_ms * candidate.batch:.3g} ms that its "
        "process reported: work was done where its clock did not look"
    )
    raise Rejected(NAME, "while timing", detail)
