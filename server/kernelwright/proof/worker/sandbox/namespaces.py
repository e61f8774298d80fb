"""A network of its own, without any interface, and a /dev/shm of its own, for this process and all that it starts."""

import os

from kernelwright.proof.worker.sandbox import libc

WITH_USERS = "user and network namespace"
_SET_DUMPABLE = 4
_NEW_MOUNTS, _NEW_USER, _NEW_NETWORK = 0x00020000, 0x10000000, 0x40000000
_NO_SET_UID, _NO_DEVICES, _RECURSIVE, _PRIVATE = 2, 4, 1 << 14, 1 << 18


def leave_the_network() -> str:
    """How it was done, in words. As root a network namespace alone, else one inside a user namespace.

    A user namespace keeps the user's and the group's number; it is tried in a child first, because a system may let a
    process in and then not let it say who it is. Raises OSError with the reason, and then nothing has changed.
    """
    others = threads() - 1
    if others:
        raise OSError(f"the process already has {others} other threads, which would keep the network")
    try:
        libc.unshare(_NEW_NETWORK)
    except PermissionError:
        _try_in_a_child()
        _enter_user_namespace()
        return WITH_USERS
    return "network namespace"


def own_shared_memory() -> str:
    """Mount a /dev/shm that no other program sees, and that is gone with the last process that does. Raises OSError.

    It takes root's powers, or those that a user namespace of its own has brought.
    """
    libc.unshare(_NEW_MOUNTS)
    libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE)  # else the next would be seen by everybody
    libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", _NO_SET_UID | _NO_DEVICES, b"mode=1777")
    return "gone with it"


def threads() -> int:
    """How many threads this process has."""
    return len(os.listdir("/proc/self/task"))


def _enter_user_namespace() -> None:
    user, group = os.geteuid(), os.getegid()
    libc.prctl(_SET_DUMPABLE, 1)  # a child of a process that keeps itself private does not own its files in /proc
    libc.unshare(_NEW_USER | _NEW_NETWORK)
    for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(line)


def _try_in_a_child() -> None:
    child = os.fork()
    if child == 0:
        try:
            _enter_user_namespace()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or 1)
        finally:
            os._exit(1)
    number = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if number:
        raise OSError(f"a user namespace is not allowed here: {os.strerror(abs(number)).lower()}")
