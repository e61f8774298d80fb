"""What a process may use up, whom it belongs to, and that it gains nothing by running a set-uid program.

There is no limit of address space: CUDA reserves far more of it than it uses. The server watches the resident memory.
"""

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
from collections.abc import Collection
from dataclasses import dataclass

from kernelwright.proof.worker.sandbox import libc

_PDEATHSIG, _SET_DUMPABLE, _NO_NEW_PRIVS = 1, 4, 38
_DROP_FROM_BOUND, _AMBIENT, _CLEAR_ALL = 24, 47, 4
_OVERRIDE_PERMISSIONS, _ACT_AS_OWNER = 1 << 1, 1 << 3  # CAP_DAC_OVERRIDE, CAP_FOWNER


@dataclass(frozen=True)
class Limits:
    """`processes` (threads count too) come on top of those that the user has already; `file_bytes` bound one file."""

    processes: int = 4096
    file_bytes: int = 16 << 30
    open_files: int = 1 << 16


def on_files(limits: Limits) -> None:
    """No core files, none larger than `limits` says, and so many open at a time."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)


def on_processes(limits: Limits, *, own_users: bool) -> str:
    """How many, in words; `own_users`: in a new user namespace, where Linux 5.14 and later count from zero.

    Raises OSError where the system does not count, or has counted more than can be seen here.
    """
    if os.getuid() == 0:
        raise OSError("the system does not count root's processes")
    before = resource.getrlimit(resource.RLIMIT_NPROC)
    from_zero = own_users and tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (5, 14)
    most = limits.processes + (0 if from_zero else _threads_of_the_user())
    if before[0] != resource.RLIM_INFINITY and before[0] <= most:
        return f"{before[0]} for this user"
    resource.setrlimit(resource.RLIMIT_NPROC, (most, before[1]))
    try:
        child = os.fork()
    except BlockingIOError:
        resource.setrlimit(resource.RLIMIT_NPROC, before)
        raise OSError("this user has more processes than can be seen here") from None
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    _lower(resource.RLIMIT_NPROC, most)
    return f"{limits.processes} more for this user"


def own_group() -> None:
    """Lead a process group, so that one signal reaches all that this process starts."""
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)


def die_with(parent: int) -> None:
    """Be killed when the thread that forked this process ends; at once when `parent` is gone already."""
    libc.prctl(_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def no_new_privileges() -> None:
    """Set-uid programs run without their privilege from now on."""
    libc.prctl(_NO_NEW_PRIVS, 1)


def drop_capabilities() -> str:
    """Keep, of root's powers, that of reading and changing files of any owner. What was kept, in words.

    It binds this thread only. Raises OSError.
    """
    with contextlib.suppress(OSError):  # not allowed, and then nothing to drop; or past the last one
        for number in range(64):
            libc.prctl(_DROP_FROM_BOUND, number)
    libc.prctl(_AMBIENT, _CLEAR_ALL)
    kept = libc.capabilities() & (_OVERRIDE_PERMISSIONS | _ACT_AS_OWNER) if os.getuid() == 0 else 0
    libc.set_capabilities(kept)
    return "apart from those over files" if kept else ""


def keep_private() -> None:
    """Let no other process of this user read or trace this one; for the processes that judge. Not inherited by exec."""
    libc.prctl(_SET_DUMPABLE, 0)


def load_driver() -> None:
    """Have NVIDIA's device files made while a set-uid program still can; libcuda would ask for the same, later."""
    program = shutil.which("nvidia-modprobe", path=f"{os.environ.get('PATH', '')}:/usr/bin:/usr/sbin")
    if program is None or os.path.exists("/dev/nvidia-uvm"):
        return
    _run(program, "-c=0", "-u")
    with contextlib.suppress(OSError):
        for number in range(1, len(os.listdir("/proc/driver/nvidia/gpus"))):
            _run(program, f"-c={number}")


def close_descriptors(keep: Collection[int]) -> None:
    """Close all open files but the standard streams and `keep`."""
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2 and number not in keep:
            with contextlib.suppress(OSError):  # the one of the listing itself
                os.close(number)


def _run(*command: str) -> None:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):  # torch will say what is missing
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)


def _lower(which: int, most: int) -> None:
    soft, hard = resource.getrlimit(which)
    limited = [most if value == resource.RLIM_INFINITY else min(value, most) for value in (soft, hard)]
    resource.setrlimit(which, (limited[0], limited[1]))


def _threads_of_the_user() -> int:
    user, count = os.getuid(), 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{name}").st_uid == user:
                count += len(os.listdir(f"/proc/{name}/task"))
    return count
