"""The temporary folders of workers: one for each, removed with it, below one of this process's that a lock tells as alive.

What a server that was killed has left behind, folders and processes, is removed by the next one that starts a worker.
"""

import atexit
import contextlib
import itertools
import os
import re
import shutil
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from kernelwright.proof.worker import processes

_PREFIX = "kernelwright-server-"
_UNFINISHED = "kernelwright-new-"
_LOCK = "lock"
_numbers = itertools.count(1)
_guard = threading.RLock()


@dataclass
class _Ours:
    """The folder of this process, made when first needed, and the descriptor that holds its lock."""

    folder: Path | None = None
    lock: int = -1


_ours = _Ours()


def make(role: str) -> Path:
    """A new folder for one worker. Raises OSError where the disk is full or may not be written."""
    with _guard:
        if _ours.folder is None or not _ours.folder.is_dir():
            _forget()
            _begin()
        assert _ours.folder is not None
        made = _ours.folder / f"{role}-{next(_numbers)}"
        made.mkdir(mode=0o700)
        return made


def remove(folder: Path) -> None:
    """Remove a worker's folder; with the last one this process's own."""
    shutil.rmtree(folder, ignore_errors=True)
    with _guard:
        if _ours.folder == folder.parent and os.listdir(folder.parent) in ([], [_LOCK]):
            shutil.rmtree(folder.parent, ignore_errors=True)
            _forget()


def tag() -> str:
    """A new tag for a worker of this process."""
    own = os.getpid()
    return f"{own}-{processes.started(own)}-{next(_numbers)}"


def sweep() -> None:
    """Remove what servers that have ended left behind: their folders, and processes that left their workers' sessions."""
    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if place != _ours.folder and _is_abandoned(place):
            shutil.rmtree(place, ignore_errors=True)
    space = _namespaces(os.getpid())
    for pid in processes.processes():
        named = re.fullmatch(r"(\d+)-(\d+)-\d+", processes.tag_of(pid))
        if named and named[2] != processes.started(int(named[1])) and space and _namespaces(pid) == space:
            processes.signal_all((pid,))


def _begin() -> None:
    """Make the folder under a name that nobody sweeps, and give it its own once the lock is held. Raises OSError."""
    made = Path(tempfile.mkdtemp(prefix=_UNFINISHED)).resolve()
    try:
        _ours.lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with contextlib.suppress(OSError, ImportError):  # without locks nobody sweeps
            import fcntl

            fcntl.flock(_ours.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _ours.folder = made.rename(made.with_name(_PREFIX + made.name.removeprefix(_UNFINISHED)))
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _forget() -> None:
    if _ours.lock >= 0:
        os.close(_ours.lock)
    _ours.folder, _ours.lock = None, -1


def _is_abandoned(place: Path) -> bool:
    """Whether nobody holds its lock. One without a lock is being made, or removed."""
    try:
        import fcntl

        if place.stat().st_uid != os.getuid():
            return False
        descriptor = os.open(place / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (OSError, ImportError):
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _namespaces(pid: int) -> tuple[str, ...]:
    """Where its process numbers and files are those that they seem to be; empty where that cannot be told."""
    try:
        return tuple(os.readlink(f"/proc/{pid}/ns/{name}") for name in ("pid",))
    except OSError:
        return ()


def _at_exit(owner: int) -> None:
    if os.getpid() == owner and _ours.folder is not None:
        shutil.rmtree(_ours.folder, ignore_errors=True)


atexit.register(_at_exit, os.getpid())
