"""The judge's own clock: was work done that the clock in the candidate's process did not see?

Between the judge's request and the reply lie the timed calls and nothing else. What takes longer there than the process
reports, and longer than at the baseline, was hidden.
"""

import math

from kernelwright.proof.worker.bench import Rejected
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.series import Series
from kernelwright.values import Check

_LEAST_HIDDEN = {"cuda": 0.15, "cpu": 0.5}  # milliseconds; how far two processes' replies differ on a quiet machine
_HIDDEN_SHARE = 0.2  # of the time that the host reports
_RESIDUAL_MS = 0.05  # waiting for an idle device takes a few microseconds
_LONG_MS = 5.0  # of a sample in which one call's share of that difference is small
_MOST_CALLS = 1000
_COPIES, _COPIED_BYTES = 32, 32 << 20  # of the inputs of such a sample, at most
_SHARE = 0.4  # hidden in each call: the sample is another one than those that gave the time
_ASKED = 16  # times before a difference counts as hidden work


def complete(one: Series) -> None:
    """Work that is still running after the end of every sample was never timed. Raises Rejected."""
    left, typical = min(one.residual_ms), one.typical_ms
    if left > _RESIDUAL_MS + 0.2 * typical:
        detail = f"work went on for {left:.3g} ms after the timed call: it runs on a stream that nothing waits for"
        raise Rejected(Check("timing-complete", "while timing", False, detail))


def nothing_hidden(own: Series, base: Series, device: str) -> None:
    """More of the judge's time beside the reported one than at the baseline is hidden work. Raises Rejected."""
    reported = own.typical_ms * own.batch
    for _ in range(_ASKED):
        # The least of all samples: what delays some replies, on a busy machine most of them, is not work of every call.
        hidden = min(own.outside_ms) - min(base.outside_ms)
        if hidden <= max(_LEAST_HIDDEN[device], _HIDDEN_SHARE * reported):
            return
        own.sample()
        base.sample()
    raise _refused(hidden, reported)


def short_calls_agree(own: Series, base: Series, device: str, inputs: Inputs) -> None:
    """Calls too short for the judge to see one: many of them in a sample, measured from outside. Raises Rejected.

    The difference between candidate and baseline from outside must be the difference between what they reported; what
    both have in common (flushes, the loop, the reply) cancels.
    """
    reported = own.typical_ms
    if reported * own.batch * _HIDDEN_SHARE > _LEAST_HIDDEN[device]:
        return
    calls = min(max(math.ceil(_LONG_MS / max(reported, 1e-6)), own.batch), _MOST_CALLS)
    size = sum(tensor.numel() * tensor.element_size() for tensor in inputs.tensors())
    copies = max(1, min(calls, _COPIES, _COPIED_BYTES // max(size, 1)))
    apart = reported - base.typical_ms
    allowed = _LEAST_HIDDEN[device] / calls + _SHARE * reported + _HIDDEN_SHARE * abs(apart)
    outside = of_baseline = math.inf
    for _ in range(_ASKED):  # other work delays some samples; the least of many is the calls' own
        outside = min(outside, own.timed(calls, copies)[1] / calls)
        of_baseline = min(of_baseline, base.timed(calls, copies)[1] / calls)
        hidden = outside - of_baseline - apart
        if hidden <= allowed:
            return
    raise _refused(hidden, reported)


def _refused(hidden: float, reported: float) -> Rejected:
    detail = (
        f"a call took {hidden:.3g} ms longer from outside than the {reported:.3g} ms that its process reported: "
        "work was done where its clock did not look"
    )
    return Rejected(Check("judge-clock", "while timing", False, detail))
