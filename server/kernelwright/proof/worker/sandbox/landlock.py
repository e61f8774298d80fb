"""Landlock: the kernel's own sandbox for unprivileged processes, through its three system calls.

It forbids all that its rules do not allow, to this thread and to all that it starts, and cannot be undone. Versions 1 to
6 of the interface are used as far as the kernel has them; see landlock(7).
"""

import os
import stat
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from kernelwright.proof.worker.sandbox import libc

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture that runs CUDA
_ASK_VERSION = 1
_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_DEVICE = 1 << 6 | 1 << 11  # character and block devices: never allowed
TRUNCATE, DEVICE_CONTROL = 1 << 14, 1 << 15

READ = EXECUTE | READ_FILE | READ_FOLDER
ALL = ((1 << 16) - 1) & ~_MAKE_DEVICE
_OF_A_FILE = EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE | DEVICE_CONTROL

_TCP = 1 << 0 | 1 << 1  # bind, connect
_ABSTRACT_SOCKETS, _SIGNALS = 1 << 0, 1 << 1

RENAMES, TRUNCATION, NETWORK, SCOPES = 2, 3, 4, 6  # the versions that brought control of them
NEWEST = 6


@dataclass(frozen=True)
class Rule:
    """Allow `rights` on `path` and on all that lies beneath it."""

    path: str
    rights: int


def version() -> int:
    """The version of Landlock that can be used here, at most 6; 0 where there is none."""
    try:
        return min(libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION), NEWEST)
    except OSError:
        return 0


def restrict(rules: Iterable[Rule], use: int, *, abstract_sockets: bool = False) -> None:
    """Forbid this thread all file access but that of `rules`, and all that version `use` can forbid beside it: TCP,
    signals to strangers, and their abstract sockets unless `abstract_sockets`.

    Needs no_new_privs. A rule whose path cannot be opened allows nothing. Raises OSError.
    """
    handled = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(use, 16)) - 1
    scoped = _SIGNALS if abstract_sockets else _SIGNALS | _ABSTRACT_SOCKETS
    attributes = struct.pack("=QQQ", handled, _TCP, scoped)[: 24 if use >= SCOPES else 16 if use >= NETWORK else 8]
    ruleset = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for rule in rules:
            _allow(ruleset, rule, handled)
        libc.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, rule: Rule, handled: int) -> None:
    try:
        # A link is not followed: its target has a rule of its own where it may be used.
        place = os.open(rule.path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # gone meanwhile, or closed to this user anyway
    try:
        rights = rule.rights & handled
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_A_FILE
        if rights:
            libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
    except OSError:
        return  # a place that Landlock knows no rules for; it stays forbidden
    finally:
        os.close(place)
