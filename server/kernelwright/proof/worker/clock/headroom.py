"""Memory for timing: several processes hold inputs and outputs at once, and on large workloads not everything has room."""

from dataclasses import dataclass

from kernelwright.proof.worker.failed import JobFailed, is_out_of_memory
from kernelwright.proof.worker.rejected import NO_MEMORY, Rejected

_POOLS = 4  # times the bytes of the inputs that fresh.FreshData takes for new values in every call


@dataclass(frozen=True)
class Headroom:
    """What there is room for beside the processes that must run: the baseline in a second one, all new data in each call."""

    twin: bool
    pools: bool


LEAST = Headroom(twin=False, pools=False)
_LARGE = 1 << 30  # bytes of inputs: for less there is memory for new ones, unless somebody takes it on purpose


def headroom(given: int, answered: int, free: int, processes: int) -> Headroom:
    """What fits into `free` bytes beside `processes` texts whose call takes and returns so many bytes.

    A process has the call's inputs and outputs, once more in the memory that it shares with the judge, and temporaries
    for which twice the outputs are supposed; the judge holds what it compares.
    """
    each = 2 * (given + answered) + 2 * answered
    spare = free - processes * each - (given + 3 * answered)
    twin = spare >= each
    return Headroom(twin, spare - each * twin >= _POOLS * given)


def strict_enough(room: Headroom, given: int) -> bool:
    """Whether a call with so many bytes of inputs may be timed so.

    A candidate that takes memory, or says that it lacks some, must not get data that are nearly the same in every call:
    those it could answer from what it has kept.
    """
    return room.pools or given >= _LARGE


def lacks_memory(error: Exception) -> bool:
    """Whether this is memory that ran out, here or in a process that is timed."""
    return is_out_of_memory(error) or (isinstance(error, Rejected | JobFailed) and NO_MEMORY in str(error))
