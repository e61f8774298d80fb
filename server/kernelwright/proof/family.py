"""All processes that a worker has started, also those in groups or sessions of their own: ended together, and counted."""

import os
from collections.abc import Iterable

from kernelwright.proof.worker import processes
from kernelwright.values import Failure, FailureKind

MOST = 2048  # processes; compilers that run side by side on the largest machines stay far below
_PASSES = 3  # what is forked while others are killed is found by the next one


def kill(leader: int, tag: str = "") -> None:
    """Kill the process `leader`, which leads a session, and its family. Returns at once, and says nothing of the dead.

    Trackers of shared memory are left, which end by themselves once they have removed what the others leave.
    """
    for _ in range(_PASSES):
        members = {leader: leader, **family(leader, tag)}
        trackers = processes.trackers_among(members)
        if trackers:
            processes.signal_all(members.keys() - trackers)
        else:
            _kill_groups(members.values())
        if members.keys() == {leader, *trackers}:
            return


def kill_all(leader: int, tag: str = "") -> None:
    """Kill what is left of a family, trackers of shared memory too."""
    _kill_groups(family(leader, tag).values())


def family(leader: int, tag: str = "") -> dict[int, int]:
    """The living processes of the session `leader` and their descendants, each with its group; empty without /proc.

    A process that left the session and whose parent has ended is found while some worker adopts it, and by its `tag`
    as long as it has kept the environment that it was started with.
    """
    table = processes.processes()
    found = {p.pid for p in table.values() if p.session == leader and not p.is_over}
    if tag:
        found |= {pid for pid in table.keys() - found if processes.tag_of(pid) == tag}
    found |= processes.descendants(found, table)
    return {pid: table[pid].group for pid in found if not table[pid].is_over}


def too_many(count: int) -> Failure:
    message = f"The code started {count} processes, the limit is {MOST}: let it start fewer at a time."
    return Failure(FailureKind.CRASHED, message)


def _kill_groups(groups: Iterable[int]) -> None:
    """Whole groups: a process cannot fork its way out of a signal to its group."""
    processes.signal_all(-group for group in {*groups} - {os.getpgrp()})
