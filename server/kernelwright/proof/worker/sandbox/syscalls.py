"""A filter of system calls (seccomp): no sockets but local ones, no hand on other processes or on the attributes of files,
no way around the filter.

It needs no privilege, reaches every thread, and works in containers that allow neither namespaces nor Landlock.
"""

import ctypes
import os
import platform
import socket
import struct
from collections.abc import Collection, Sequence
from pathlib import Path

from kernelwright.proof.worker.sandbox import libc

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _PRETEND, _REFUSE = 0x7FFF0000, 0x00050000, 0x00050000 | 1  # do it; say that it is done; EPERM
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data, little-endian
_FIRST_ARGUMENT, _SECOND_ARGUMENT = 16, 24
_SET_FILTER = 1
_ALL_THREADS, _KEEP_SPECULATION = 1, 4  # before Linux 5.16 a filter would slow its process down
_FOREIGN_TABLE = 0x40000000  # the numbers of x32, on x86-64

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# With one of these OpenMP binds each of its threads to cores, by a call that names the thread.
_BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
# By which a descriptor signals another process (fcntl: F_SETOWN, F_SETSIG, F_SETOWN_EX; ioctl: FIOSETOWN, SIOCSPGRP), or the
# flags of a file are set (FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR).
_OWNERS = {"fcntl": (8, 10, 15), "ioctl": (0x8901, 0x8902, 0x40086602, 0x401C5820)}
_ROWS = Path(__file__).with_name("syscalls.txt").read_text(encoding="utf-8").splitlines()
_SECCOMP = {"x86_64": 317, "aarch64": 277}

Instruction = tuple[int, int, int, int]


def install(protected: Collection[int]) -> None:
    """Refuse, for every thread and for good, what the table names; `protected` are processes not to be signalled.

    Threads may be bound to cores where the environment has OpenMP do so. Needs no_new_privs. Raises OSError, also where the
    processor's system calls are not known here.
    """
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise OSError(f"the system calls of {machine} are not known here")
    free = {"sched_setaffinity"} if any(name in os.environ for name in _BINDING) else set()
    program = _program(machine, _reaching(protected), os.getpid(), free)
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    held = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(held))
    if libc.syscall(_SECCOMP[machine], _SET_FILTER, _ALL_THREADS | _KEEP_SPECULATION, header):
        raise OSError("another thread has a filter of its own")


def rules(machine: str) -> list[tuple[str, str, int]]:
    """Per system call: when it is refused, its name, its number on this machine."""
    at = list(_ARCHITECTURES).index(machine)
    rows = [line.split() for line in _ROWS if line[0] != "#"]
    return [(kind, name, int(numbers[at])) for kind, name, *numbers in rows if numbers[at] != "-"]


def _program(machine: str, reaching: Collection[int], own: int, free: Collection[str]) -> list[Instruction]:
    """The filter of the process `own`, without the calls that are `free`: the first rule that fits returns."""
    refused: Sequence[Instruction] = [(_RETURN, 0, 0, _REFUSE)]
    itself = _argument(_SECOND_ARGUMENT, [0, own], _ALLOW, _REFUSE)
    bodies = {
        "always": refused,
        "protected": _argument(_FIRST_ARGUMENT, reaching, _REFUSE, _ALLOW),
        "others": _argument(_FIRST_ARGUMENT, [0, own], _ALLOW, _REFUSE),
        "priority": [(_LOAD, 0, 0, _FIRST_ARGUMENT), (_EQUAL, 1, 0, os.PRIO_PROCESS), *refused, *itself],
        "remote": _argument(_FIRST_ARGUMENT, [socket.AF_UNIX], _ALLOW, _REFUSE),
        "unseen": [(_RETURN, 0, 0, _PRETEND)],
    }
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        *refused,  # 32-bit calls have other numbers
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _FOREIGN_TABLE),
        *refused,
    ]
    for kind, name, number in rules(machine):
        if name not in free:
            body = bodies.get(kind) or _argument(_SECOND_ARGUMENT, _OWNERS[name], _REFUSE, _ALLOW)
            program += [(_EQUAL, 0, len(body), number), *body]
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _argument(which: int, values: Collection[int], listed: int, other: int) -> list[Instruction]:
    """Return `listed` when the argument at this offset is one of `values`, else `other`."""
    cases: list[Instruction] = []
    for value in values:
        cases += [(_EQUAL, 0, 1, value & 0xFFFFFFFF), (_RETURN, 0, 0, listed)]
    return [(_LOAD, 0, 0, which), *cases, (_RETURN, 0, 0, other)]


def _reaching(protected: Collection[int]) -> set[int]:
    """The first arguments of kill that reach a protected process: itself, its group, everybody."""
    groups = set()
    for process in protected:
        try:
            groups.add(os.getpgid(process))
        except ProcessLookupError:
            continue
    return {-1, *protected, *(-group for group in groups - {os.getpgrp()})}
