"""Looks at a host from outside, in /proc: processes that work for it, and machine code that it has loaded.

Without /proc nothing is seen.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelwright.proof.worker.processes import Process, descendants, processes, read, stat_of

_CACHES = ("triton", "inductor", "extensions", "cuda", "cupy", "numba")  # of compilers, see sandbox.caches
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
    own = stat_of(host)
    if not own:
        return Company({}, 0)
    table = processes()
    adopters = (os.getpid(), zygote)
    orphans = {p.pid for p in table.values() if p.parent in adopters and _is_orphan(p, host, int(own[19]))}
    family = (orphans | descendants({host, *orphans}, table)) - {host, zygote}
    running = {pid: (_command(pid), _run(pid, stat)) for pid in family if (stat := stat_of(pid))}
    return Company(running, int(own[8]) + int(own[10]))


def seconds(company: Company) -> float:
    """Processor time that the processes beside a host have taken, as far as nobody has waited for them."""
    return sum(run[0] for _, run in company.running.values()) / os.sysconf("SC_CLK_TCK")


def helpers(before: Company, after: Company) -> tuple[str, ...]:
    """The commands of processes that have run between two looks; those that ended meanwhile have no name any more."""
    busy = [words for pid, (words, run) in after.running.items() if before.running.get(pid, ("", ()))[1] != run]
    gone = before.running.keys() - after.running.keys()
    busy += [before.running[pid][0] for pid in gone]
    if after.ended > before.ended and not gone:
        busy.append("one that ended within the call")
    return tuple(dict.fromkeys(busy))


def loaded_code(host: int, scratch: str, folder: Path) -> tuple[tuple[str, ...], bool]:
    """Machine code that a host has loaded from where its text, or its user, can write, and the judge has not; and whether an
    extension that torch compiled from a text is loaded."""
    known, mapped = set(_mapped(os.getpid())), _mapped(host)
    foreign = tuple(Path(path).name for path in mapped if path not in known and _is_foreign(path, scratch, folder))
    return foreign, any(_within(path, f"{os.path.realpath(scratch)}/extensions") for path in mapped)


def _is_foreign(path: str, scratch: str, folder: Path) -> bool:
    if path.startswith("/memfd:"):
        return not any(name in path.lower() for name in _OF_THE_SYSTEM)
    own = os.path.realpath(scratch)
    allowed = (*(f"{own}/{cache}" for cache in _CACHES), *map(os.path.realpath, (sys.prefix, sys.base_prefix)))
    if "site-packages" in path or Path(path).name.startswith("ffi") or _within(path, *allowed):
        return False
    return _within(path, own, os.path.realpath(tempfile.gettempdir()), "/tmp", "/dev/shm", str(folder.resolve()))


def _within(path: str, *folders: str) -> bool:
    return path.startswith(tuple(f"{folder}/" for folder in folders))


def _mapped(pid: int) -> tuple[str, ...]:
    """The files whose code a process has mapped, in order; nothing where they cannot be read."""
    fields = (line.split(maxsplit=5) for line in read(pid, "maps").decode(errors="replace").splitlines())
    found = (parts[5].removesuffix(" (deleted)") for parts in fields if len(parts) == 6 and "x" in parts[1])
    return tuple(dict.fromkeys(path for path in found if path.startswith("/")))


def _is_orphan(process: Process, host: int, since: int) -> bool:
    """Whether an adopted process came from this host: it is of its group, or is younger and has a host's temporary folder."""
    if process.pid == host or process.group == host:
        return process.pid != host
    return int(process.started) >= since and b"kernelwright-host-" in read(process.pid, "environ")


def _run(pid: int, stat: list[bytes]) -> tuple[int, ...]:
    """Grows whenever the process runs: its time, and how often it was given a processor."""
    threads: list[str] = []
    with contextlib.suppress(OSError):
        threads = os.listdir(f"/proc/{pid}/task")
    lines = [line for thread in threads for line in read(pid, f"task/{thread}/status").splitlines()]
    return int(stat[11]) + int(stat[12]), sum(int(line.split()[1]) for line in lines if b"ctxt_switches" in line)


def _command(pid: int) -> str:
    return os.path.basename(read(pid, "cmdline").split(b"\0")[0].decode(errors="replace")) or f"process {pid}"
