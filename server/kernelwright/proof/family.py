"""All processes that a worker has started, also those in groups or sessions of their own: ended together, and counted."""

import contextlib
import os
import signal
from pathlib import Path

from kernelwright.values import Failure, FailureKind

MOST = 2048  # processes; compilers that run side by side on the largest machines stay far below
_PASSES = 3  # what is forked while others are killed is found by the next one


def kill(leader: int) -> None:
    """Kill the process `leader`, which leads a session, and its family. Returns at once, and says nothing of the dead."""
    for _ in range(_PASSES):
        groups = {leader, *family(leader).values()} - {os.getpgrp()}
        for group in groups:  # whole groups: a process cannot fork its way out of a signal to its group
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        if groups == {leader}:
            return


def family(leader: int) -> dict[int, int]:
    """The living processes of the session `leader` and their descendants, each with its group; empty without /proc.

    A process that left the session and whose parent has ended is found only while some worker adopts it.
    """
    parents: dict[int, int] = {}
    groups: dict[int, int] = {}
    found: set[int] = set()
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = place.read_text(errors="replace").rpartition(")")
        except OSError:
            continue  # ended meanwhile
        state, parent, group, session = rest.split()[:4]
        process = int(name.split()[0])
        parents[process], groups[process] = int(parent), int(group)
        if int(session) == leader and state != "Z":
            found.add(process)
    while more := {process for process, parent in parents.items() if parent in found} - found:
        found |= more
    return {process: groups[process] for process in found}


def too_many(processes: int) -> Failure:
    message = f"The code started {processes} processes, the limit is {MOST}: let it start fewer at a time."
    return Failure(FailureKind.CRASHED, message)
