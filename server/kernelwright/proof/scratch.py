"""The temporary folders of workers: one for each, removed with it, beside a lock that tells that its server lives.

What a server that was killed has left behind, folders and processes, is removed by the next one that starts a worker.
"""

import atexit
import contextlib
import itertools
import os
import re
import shutil
import tempfile
from pathlib import Path

from kernelwright.proof.worker import processes

_PREFIX = "kernelwright-server-"
_UNFINISHED = "kernelwright-new-"
_LOCK = "lock"
_numbers = itertools.count(1)
_locks: dict[Path, int] = {}  # the folders that this process has made, and the descriptors of their locks


def make(role: str) -> Path:
    """A new folder for one worker. Raises OSError where the disk is full or may not be written.

    What is around it has a name that nobody sweeps until its lock is held.
    """
    made = Path(tempfile.mkdtemp(prefix=_UNFINISHED)).resolve()
    with contextlib.ExitStack() as undo:
        undo.callback(shutil.rmtree, made, ignore_errors=True)
        lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        undo.callback(os.close, lock)
        with contextlib.suppress(OSError, ImportError):  # without locks nobody sweeps
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (made / role).mkdir(mode=0o700)
        around = made.rename(made.with_name(_PREFIX + made.name.removeprefix(_UNFINISHED)))
        undo.pop_all()
    _locks[around] = lock
    return around / role


def remove(folder: Path) -> None:
    """Remove a worker's folder."""
    shutil.rmtree(folder.parent, ignore_errors=True)
    lock = _locks.pop(folder.parent, None)
    if lock is not None:
        os.close(lock)


def tag() -> str:
    """A new tag for a worker of this process."""
    own = os.getpid()
    return f"{own}-{processes.started(own)}-{next(_numbers)}"


def sweep() -> None:
    """Remove what servers that have ended left behind: their folders, and processes that left their workers' sessions."""
    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if _is_abandoned(place):
            shutil.rmtree(place, ignore_errors=True)
    space = _namespace(os.getpid())
    for pid in processes.processes():
        named = re.fullmatch(r"(\d+)-(\d+)-\d+", processes.tag_of(pid))
        if named and named[2] != processes.started(int(named[1])) and space and _namespace(pid) == space:
            processes.signal_all((pid,))


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


def _namespace(pid: int) -> str:
    """Where its process numbers are those that they seem to be; "" where that cannot be told."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def _at_exit(owner: int) -> None:
    for around in _locks if os.getpid() == owner else ():
        shutil.rmtree(around, ignore_errors=True)


atexit.register(_at_exit, os.getpid())
