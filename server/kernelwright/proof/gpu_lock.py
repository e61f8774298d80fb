"""One job at a time per GPU across processes: locked files per GPU in a folder of the user's own.

Who waits holds the file of the next one. A process that is done and asks again at once waits behind it: no process with
many jobs keeps another from its one.
"""

import asyncio
import contextlib
import os
import re
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

WAITING = "waiting for another Kernelwright on this GPU"
_POLL = 0.05  # seconds


class Busy(Exception):
    """Another process held the GPU for the whole time."""


@contextlib.asynccontextmanager
async def gpu_lock(uuid: str, *, timeout: float, report: Callable[[str], None] | None = None) -> AsyncIterator[None]:
    """Hold the GPU named `uuid` inside the block. Raises Busy after `timeout` seconds of waiting.

    The system frees the lock when the process ends, however it ends. Where files cannot be locked, nothing is held.
    """
    end, told = asyncio.get_running_loop().time() + timeout, False

    async def lock(descriptor: int | None) -> None:
        """Returns once the file is locked, at once where there is none. Tells of its waiting once. Raises Busy."""
        nonlocal told
        while descriptor is not None and not _try(descriptor):
            if report is not None and not told:
                told = True
                report(WAITING)
            if asyncio.get_running_loop().time() >= end:
                raise Busy
            await asyncio.sleep(_POLL)

    following = _open(uuid, "next")
    try:
        await lock(following)
        descriptor = _open(uuid, "lock")
        try:
            await lock(descriptor)
            _close(following)
            following = None
            yield
        finally:
            _close(descriptor)
    finally:
        _close(following)


def _close(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)  # the last descriptor of the open file: this also unlocks


def _try(descriptor: int) -> bool:
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: nothing to wait for
    return True


def _open(uuid: str, kind: str) -> int | None:
    try:
        import fcntl  # noqa: F401
    except ImportError:
        return None
    name = re.sub(r"[^A-Za-z0-9-]", "_", uuid) or "gpu"
    try:
        folder = lock_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(folder / f"{name}.{kind}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None


def lock_folder() -> Path:
    """The user's runtime folder, else one in the temporary folder that carries the user's id."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        return Path(runtime) / "kernelwright"
    return Path(tempfile.gettempdir()) / f"kernelwright-{os.getuid()}"
