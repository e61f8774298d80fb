"""The cores that the CPU's threads are pinned to while they are timed: one hardware thread of each physical core first."""

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping

_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
_WHILE = 0.03  # seconds
_CAN_PIN = hasattr(os, "sched_setaffinity")
# As this process was started: while it times, it is pinned to fewer.
_usable = tuple(sorted(os.sched_getaffinity(0))) if _CAN_PIN else tuple(range(os.cpu_count() or 1))


def cpu_threads(asked: int) -> int:
    """The threads that torch gets on the CPU: as asked, else one for each physical core that this process may use."""
    return min(asked, len(_usable)) if asked > 0 else len(_firsts(_siblings(_usable)))


@contextlib.contextmanager
def pinned(threads: int) -> Iterator[None]:
    """This process has as many cores as threads, the idlest, so that none moves to another while it is timed."""
    before = bound()
    bind(chosen(threads, _siblings(_usable), _busy() if threads < len(_usable) else {}))
    try:
        yield
    finally:
        bind(before)


def bind(cores: Iterable[int]) -> None:
    """Bind every thread of this process, and those that they will start, to `cores`; nothing where a system cannot."""
    if not _CAN_PIN:
        return
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):  # it has ended, or the machine lends these cores no longer: `bound` tells
            os.sched_setaffinity(int(task), cores)


def bound() -> tuple[int, ...]:
    """The cores that this thread may run on; () where a system does not say."""
    return tuple(sorted(os.sched_getaffinity(0))) if _CAN_PIN else ()


def described(threads: int) -> str:
    """For the conditions of a number: "2, pinned to cores 0, 1"."""
    cores = bound()
    if len(cores) != threads:
        return f"{threads}, not pinned"
    return f"{threads}, pinned to core{'s' if threads > 1 else ''} {', '.join(map(str, cores))}"


def chosen(threads: int, siblings: Mapping[int, str], busy: Mapping[int, int]) -> tuple[int, ...]:
    """Physical cores before their second hardware threads, idle ones first, then the last: interrupts go to core 0."""
    firsts = _firsts(siblings)
    load = {name: sum(busy.get(core, 0) for core in siblings if siblings[core] == name) for name in siblings.values()}
    order = sorted(siblings, key=lambda core: (core not in firsts, load[siblings[core]], -core))
    return tuple(sorted(order[:threads]))


def _firsts(siblings: Mapping[int, str]) -> list[int]:
    """The first hardware thread of each physical core."""
    first: dict[str, int] = {}
    for core in sorted(siblings):
        first.setdefault(siblings[core], core)
    return list(first.values())


def _siblings(cores: Iterable[int]) -> dict[int, str]:
    """For each core the hardware threads that share a physical one with it; itself where the system does not say."""
    return {core: _read(_SIBLINGS.format(core)) or str(core) for core in cores}


def _busy() -> dict[int, int]:
    """For how long each core works in a short while, in clock ticks of 10 ms; {} where the system does not say."""
    before = _worked()
    time.sleep(_WHILE)
    return {core: ticks - before.get(core, 0) for core, ticks in _worked().items()}


def _worked() -> dict[int, int]:
    found: dict[int, int] = {}
    for line in _read("/proc/stat").splitlines():
        name, *counts = line.split()
        if name.startswith("cpu") and name[3:].isdigit():
            user, nice, system, _idle, _waiting, *more = map(int, counts[:8])
            found[int(name[3:])] = user + nice + system + sum(more)
    return found


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
