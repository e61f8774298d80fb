"""What the judge sees of a host without asking it: processes that work for it, and machine code that it has loaded.

Read from /proc; where there is none, nothing is seen.
"""

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_COMPILED_HERE = (
    "triton",
    "inductor",
    "extensions",
    "cuda",
    "cupy",
    "numba",
)  # folders of the caches, see sandbox.caches
_OF_THE_SYSTEM = ("libffi", "nvidia", "doublemapper")  # memory files of libraries and drivers that hold code


@dataclass(frozen=True)
class Company:
    """The processes beside a host: the command and how much each has run; and the page faults of those that ended."""

    running: Mapping[int, tuple[str, tuple[int, ...]]]
    ended: int


@dataclass(frozen=True)
class Outside:
    """`helpers`: commands of processes that worked during a call. `binaries`: files of machine code that no installed
    package has and no compiler's cache holds. `extension`: whether code compiled from C++ is loaded.
    """

    helpers: tuple[str, ...] = ()
    binaries: tuple[str, ...] = ()
    extension: bool = False


def company(host: int, zygote: int) -> Company:
    """The processes that a host has started, directly or not, living or ended; orphans are their adopter's children."""
    own = _stat(host)
    if own is None:
        return Company({}, 0)
    children = _kinship()
    family, new = set(), set(children(host))
    new |= {pid for adopter in (os.getpid(), zygote) for pid in children(adopter) if _is_orphan(pid, host, own)}
    while new := new - family:
        family |= new
        new = {child for pid in new for child in children(pid)}
    running = {pid: (_command(pid), _run(pid, stat)) for pid in family - {host, zygote} if (stat := _stat(pid))}
    return Company(running, int(own[8]) + int(own[10]))


def helpers(before: Company, after: Company) -> tuple[str, ...]:
    """The commands of processes that have run between two looks; those that ended meanwhile have no name any more."""
    busy = [words for pid, (words, run) in after.running.items() if before.running.get(pid, ("", ()))[1] != run]
    gone = before.running.keys() - after.running.keys()
    busy += [before.running[pid][0] for pid in gone]
    if after.ended > before.ended and not gone:
        busy.append("one that ended within the call")
    return tuple(dict.fromkeys(busy))


def binaries(host: int, scratch: str, folder: Path) -> tuple[str, ...]:
    """Machine code that a host has loaded from where its text, or its user, can write, and the judge has not."""
    known = set(_mapped(os.getpid()))
    return tuple(Path(path).name for path in _mapped(host) if path not in known and _is_foreign(path, scratch, folder))


def has_extension(host: int, scratch: str) -> bool:
    """Whether a host has loaded an extension that torch compiled from a text."""
    return any(path.startswith(f"{os.path.realpath(scratch)}/extensions/") for path in _mapped(host))


def _is_foreign(path: str, scratch: str, folder: Path) -> bool:
    if path.startswith("/memfd:"):
        return not any(name in path.lower() for name in _OF_THE_SYSTEM)
    own = os.path.realpath(scratch)
    if any(path.startswith(f"{own}/{cache}/") for cache in _COMPILED_HERE) or Path(path).name.startswith("ffi"):
        return False
    installed = [os.path.realpath(place) for place in (sys.prefix, sys.base_prefix)]
    if "site-packages" in path or any(path.startswith(f"{place}/") for place in installed):
        return False
    places = (own, os.path.realpath(tempfile.gettempdir()), "/tmp", "/dev/shm", str(folder.resolve()))
    return any(path.startswith(f"{place}/") for place in places)


def _mapped(pid: int) -> tuple[str, ...]:
    """The files whose code a process has mapped, in order; nothing where they cannot be read."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
    except OSError:
        return ()
    fields = (line.split(maxsplit=5) for line in lines)
    found = (parts[5].removesuffix(" (deleted)") for parts in fields if len(parts) == 6 and "x" in parts[1])
    return tuple(dict.fromkeys(path for path in found if path.startswith("/")))


def _kinship() -> Callable[[int], list[int]]:
    """What tells the children of a process: a file of the system where it has one, else one look at all processes."""
    if os.path.exists(f"/proc/self/task/{threading.get_native_id()}/children"):
        return _children
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal() and (stat := _stat(int(name))) is not None:
            parents.setdefault(int(stat[1]), []).append(int(name))
    return lambda pid: parents.get(pid, [])


def _children(pid: int) -> list[int]:
    try:
        files = [thread / "children" for thread in Path(f"/proc/{pid}/task").iterdir()]
        return [int(child) for file in files for child in file.read_text().split()]
    except OSError:
        return []  # it has ended, or one of its threads just has


def _is_orphan(pid: int, host: int, own: list[str]) -> bool:
    """Whether an adopted process came from this host: it is of its group, or is younger and confined as a host is."""
    stat = _stat(pid)
    if stat is None or pid == host:
        return False
    return int(stat[2]) == host or (int(stat[19]) >= int(own[19]) and _is_confined(pid))


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on: 1 parent, 2 group, 8 and 10 faults of ended children, 19 start."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return file.read(4096).decode(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


def _run(pid: int, stat: list[str]) -> tuple[int, ...]:
    """Grows whenever the process runs: its time, and how often it was given a processor."""
    switches = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            lines = Path(f"/proc/{pid}/task/{thread}/status").read_text(errors="replace").splitlines()
            switches += sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)
    except OSError:
        switches = -1
    return int(stat[11]) + int(stat[12]), switches


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    return os.path.basename(words[0].decode(errors="replace")) if words and words[0] else f"process {pid}"


def _is_confined(pid: int) -> bool:
    """Whether an adopted process came from a host: its temporary files go to a host's folder."""
    try:
        return b"kernelwright-host-" in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
