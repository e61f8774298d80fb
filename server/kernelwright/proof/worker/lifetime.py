"""A worker never outlives its server, and a subprocess of user code never holds the private pipe."""

import contextlib
import ctypes
import faulthandler
import os
import sys
import threading
import time

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def bind_to_server(descriptor: int, server: int) -> None:
    """Die with the parent process `server`, keep the pipe private, and be the first that the system sacrifices."""
    os.set_inheritable(descriptor, False)
    if sys.platform == "linux":
        from kernelwright.proof.worker.sandbox import start

        start.hold_back()
    die_with(server)
    threading.Thread(target=_watch, args=(server,), daemon=True, name="kernelwright-watch").start()
    faulthandler.enable()


def die_with(parent: int) -> None:
    """Die when the process `parent` does, at once where the system can, and before it when memory runs out."""
    if sys.platform == "linux":
        from kernelwright.proof.worker.sandbox import limits

        limits.die_with(parent)
        _offer_to_the_oom_killer()
    if os.getppid() != parent:
        os._exit(0)  # the parent ended before the signal was asked for


def flush_prints() -> None:
    """What user code printed belongs to the log of its job; it may also have closed or replaced the streams."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def keep_freed_memory() -> None:
    """Let the C allocator keep what is freed: else a call is as fast as the history of its process's heap allows.

    Whether a large block is mapped anew (and then zeroed, page by page) depends on what was freed before.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        libc.mallopt(_M_TRIM_THRESHOLD, 2_000_000_000)


def _watch(server: int) -> None:
    """Where there is no death signal, and where the thread that started us outlived its process."""
    while os.getppid() == server:
        time.sleep(1.0)
    os._exit(0)


def _offer_to_the_oom_killer() -> None:
    # A container may forbid it; the memory watch in the server still holds.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("600")
