"""What lives, is open or lies about on behalf of one server, and what of it has no business to: read from /proc."""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.faults.deeds import SLEEPER

from kernelwright.proof.gpu_lock import lock_folder

MARK = "KERNELWRIGHT_FAULTS"  # in the server's environment, so that whatever descends from it can be told
_CACHE = "torchinductor_"  # torch's own, one for each user, meant to stay
_LOCK = "lock"  # by which a server's own folder is known to be in use
_SETTLED = 10.0  # seconds after which a process is taken to have become what it is
_strangers: set[str] = set()  # numbers of processes that were looked at and are not ours
_SHM = Path("/dev/shm")
_GROWTH = 12  # descriptors that a process's libraries may open for themselves while it lives
_DRIVER = "/dev/nvidia"  # what the GPU's driver has open from the first call on, which nobody can close
_WORKERS = {"run": 2, "judge": 2, "compile": 1}  # at most: one at work and its spare


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    state: str
    command: tuple[str, ...]
    marked: bool
    folder: str = ""  # its TMPDIR when it was started
    started: int = 0  # in ticks since the machine was

    @property
    def role(self) -> str:
        """ "run", "judge" or "compile" for what the server has started as such; a fork has its parent's command."""
        if any(part.endswith("bootstrap.py") for part in self.command) and len(self.command) > 3:
            return self.command[-2]
        return ""


def processes(mark: str) -> dict[int, Process]:
    """The processes that carry `mark` in their environment or run our sleeper, those that are ending included."""
    names = [name for name in os.listdir("/proc") if name.isdigit()]
    _strangers.intersection_update(names)
    found = (_process(int(name), mark) for name in names if name not in _strangers)
    return {process.pid: process for process in found if process is not None}


def descriptors(pid: int) -> list[str]:
    """What the open descriptors of a process refer to."""
    targets = []
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                targets.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return targets


def shared() -> set[str]:
    """The names in /dev/shm."""
    return set(os.listdir(_SHM)) if _SHM.is_dir() else set()


class Census:
    """Of one server: what was there when it was warm, against what is there now."""

    def __init__(self, mark: str, server: int, workspace: Path, tmp: Path) -> None:
        self.mark, self.server, self.workspace, self.tmp = mark, server, workspace, tmp
        self._shared = shared()
        self._own = self._of_server(processes(mark))
        self._first: dict[int, int] = {}

    def left(self) -> list[str]:
        """In words, each thing that should not be there while no job runs."""
        living = processes(self.mark)
        return [*self._processes(living), *self._files(living), *self._descriptors(living)]

    def workers(self, living: dict[int, Process]) -> dict[int, Process]:
        return {p.pid: p for p in living.values() if p.parent == self.server and p.role and p.state != "Z"}

    def _processes(self, living: dict[int, Process]) -> Iterator[str]:
        workers = self.workers(living)
        for role, most in _WORKERS.items():
            count = sum(worker.role == role for worker in workers.values())
            if count > most:
                yield f"{count} {role} workers"
        zygotes: dict[int, int] = {}
        for process in living.values():
            if process.pid == self.server or process.pid in workers:
                continue
            parent = workers.get(process.parent)
            is_zygote = parent is not None and parent.role == "judge" and process.command == parent.command
            if is_zygote and process.state != "Z" and process.parent not in zygotes:
                zygotes[process.parent] = process.pid
                continue
            words = " ".join(process.command)[-60:] or "no command"
            yield f"process {process.pid} ({process.state}, child of {process.parent}): {words}"

    def _files(self, living: dict[int, Process]) -> Iterator[str]:
        for name in sorted(shared() - self._shared):
            yield f"/dev/shm/{name}"
        folders = [Path(worker.folder) for worker in self.workers(living).values()]
        expected = {folder for folder in folders if folder != self.tmp}
        expected |= {folder.parent for folder in expected} | {self.tmp / lock_folder().name}
        below = [place for folder in {folder.parent for folder in expected} for place in _list(folder)]
        found = {*_list(self.tmp), *(place for place in below if self.tmp in place.parents)} - expected
        extra = sorted(str(p.relative_to(self.tmp)) for p in found if p.name != _LOCK and not p.name.startswith(_CACHE))
        unnamed = sum(folder == self.tmp for folder in folders)  # each may have one, not told by its name
        yield from (f"temporary {name}" for name in extra[unnamed:])

    def _descriptors(self, living: dict[int, Process]) -> Iterator[str]:
        grown = self._of_server(living) - self._own
        if grown > 0:
            yield f"{grown} descriptors of the server"
        for worker in self.workers(living).values():
            open_ = [target for target in descriptors(worker.pid) if not target.startswith(_DRIVER)]
            more = len(open_) - self._first.setdefault(worker.pid, len(open_))
            if more > _GROWTH:
                yield f"{more} descriptors of the {worker.role} worker"
            arenas = sum("memfd:kernelwright" in target for target in open_)
            if arenas:
                yield f"{arenas} arenas of the {worker.role} worker"

    def _of_server(self, living: dict[int, Process]) -> int:
        """Descriptors of the server that belong to no worker: each worker has a socket and a pipe. The journal's are not
        counted, which opens and closes files as it likes."""
        own = [target for target in descriptors(self.server) if not target.startswith(str(self.workspace))]
        return len(own) - 2 * len(self.workers(living))


def _list(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _process(pid: int, mark: str) -> Process | None:
    try:
        command = tuple(
            part.decode("utf-8", "replace") for part in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        )
        rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    variables: list[bytes] = []
    with contextlib.suppress(OSError):
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    marked = f"{MARK}={mark}".encode() in variables
    another = not marked and any(variable.startswith(f"{MARK}=".encode()) for variable in variables)
    if another or (not marked and not any(SLEEPER in part for part in command)):
        with contextlib.suppress(OSError):
            if another or (variables and os.stat(f"/proc/{pid}").st_mtime < time.time() - _SETTLED):
                _strangers.add(str(pid))
        return None
    folder = next((v.partition(b"=")[2].decode() for v in variables if v.startswith(b"TMPDIR=")), "")
    return Process(pid, int(rest[1]), rest[0], tuple(filter(None, command)), marked, folder, int(rest[19]))
