"""The processes of this machine as /proc lists them, and how a family of them is ended. Standard library only, both ends."""

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

TAG = "KERNELWRIGHT_WORKER"  # names, in the environment of a worker and all that descends from it, the worker
OVER_OR_STOPPED = ("Z", "X", "T", "t")
_TRACKER = b"multiprocessing.resource_tracker"
_PASSES = 20  # what is forked while others are killed is found by the next one
_STARTING_LIMIT = 0.02  # seconds in which a program that was started is loaded
_TRACKERS_LIMIT = 0.5  # seconds in which they remove the shared memory of those who have ended


@dataclass(frozen=True)
class Process:
    pid: int
    state: str
    parent: int
    group: int
    session: int
    started: str  # in ticks since the machine did: with its number it is told from all others

    @property
    def is_over(self) -> bool:
        return self.state in "ZX"


def processes() -> dict[int, Process]:
    """All of them; empty without /proc."""
    found: dict[int, Process] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdecimal() and (process := _process(int(name))) is not None:
                found[process.pid] = process
    return found


def descendants(roots: Collection[int], among: dict[int, Process]) -> set[int]:
    """The roots' children, and theirs; not the roots."""
    found, new = set(), set(roots)
    while new := {p.pid for p in among.values() if p.parent in new and p.pid not in found}:
        found |= new
    return found


def children(pid: int) -> list[int]:
    """The living children of a process, those that it has adopted included."""
    return [p.pid for p in processes().values() if p.parent == pid and not p.is_over]


def tag_of(pid: int) -> str:
    """What the process was tagged with when it was started; "" for none, and for one that may not be looked at."""
    variables = read(pid, "environ").split(b"\0")
    return next((v.partition(b"=")[2].decode() for v in variables if v.startswith(f"{TAG}=".encode())), "")


def state(pid: int) -> str:
    """The letter that /proc gives for what a process does; "X" when it is gone, "" where there is no /proc."""
    process = _process(pid)
    return process.state if process is not None else "X" if Path("/proc/self").exists() else ""


def started(pid: int) -> str:
    """When a process started; "" if it is gone."""
    process = _process(pid)
    return process.started if process is not None and not process.is_over else ""


def trackers_among(pids: Collection[int]) -> set[int]:
    """Those that remove, once all who used it have ended, the shared memory that these have left.

    One that is just being started has no command yet, and is waited for.
    """
    deadline = time.monotonic() + _STARTING_LIMIT
    while True:
        commands = {pid: _command(pid) for pid in pids}
        if b"" not in commands.values() or time.monotonic() > deadline:
            return {pid for pid, command in commands.items() if _TRACKER in (command or b"")}
        time.sleep(0.001)


def _command(pid: int) -> bytes | None:
    """What the process was started with, empty while its program is being loaded; None when it is over."""
    return read(pid, "cmdline") or (None if state(pid) in ("Z", "X") else b"")


def end_children(keep: Collection[int]) -> None:
    """Kill and bury all children of this process but `keep`, and all that descends from them.

    Trackers of shared memory are waited for a moment. One that goes on then has memory of this process itself to remove,
    which it can only once this process has ended: it is left.
    """
    own = os.getpid()
    deadline = time.monotonic() + _TRACKERS_LIMIT
    for _ in range(_PASSES):
        table = processes()
        mine = [p for p in table.values() if p.parent == own and p.pid not in keep]
        doomed = {p.pid for p in mine} | descendants([p.pid for p in mine], table)
        trackers = trackers_among(doomed)
        if not doomed or (trackers == doomed and time.monotonic() > deadline):
            break
        signal_all(doomed - trackers)
        for process in mine:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
        time.sleep(0.005 if trackers != doomed else 0.05)


def kill_group(leader: int) -> None:
    """Kill the process `leader` and its group; trackers of shared memory end by themselves once the others have."""
    members = {p.pid for p in processes().values() if p.group == leader}
    trackers = trackers_among(members)
    if not trackers:
        signal_all((-leader,))
    signal_all({leader, *members} - trackers)


def signal_all(pids: Iterable[int]) -> None:
    """SIGKILL to processes, or to whole groups by their negative numbers; those that are gone are no matter."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def read(pid: int, name: str) -> bytes:
    """A file of /proc; empty where the process has ended, or may not be looked at."""
    try:
        # Hundreds of them are read: pathlib takes twice as long.
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def stat_of(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat from the state on: 8 and 10 faults of ended children, 11 and 12 its time, 19 its start."""
    return read(pid, "stat").rpartition(b")")[2].split()


def _process(pid: int) -> Process | None:
    fields = stat_of(pid)
    if not fields:
        return None  # ended meanwhile
    parent, group, session = map(int, fields[1:4])
    return Process(pid, fields[0].decode(), parent, group, session, fields[19].decode())
