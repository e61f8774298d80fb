"""System calls that Python has no function for; a failure is an OSError."""

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def syscall(number: int, *arguments: int | bytes | None) -> int:
    """The result of a system call. Raises OSError."""
    passed = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *passed))


def prctl(option: int, value: int) -> int:
    """The result of prctl with one argument; the others are 0. Raises OSError."""
    return _checked(_libc.prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0))))


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` (CLONE_NEW…) name. Raises OSError."""
    _checked(_libc.unshare(flags))


def mount(source: bytes, target: bytes, kind: bytes | None, flags: int, options: bytes | None = None) -> None:
    """Mount a file system, or change how one is mounted. Raises OSError."""
    _checked(_libc.mount(source, target, kind, ctypes.c_ulong(flags), options))


def capabilities() -> int:
    """The permitted capabilities of this thread as a bit mask."""
    data = ctypes.create_string_buffer(24)
    _checked(_libc.capget(_CAPABILITY_HEADER, data))
    numbers = [int.from_bytes(data.raw[at : at + 4], "little") for at in (4, 16)]
    return numbers[0] | numbers[1] << 32


def set_capabilities(mask: int) -> None:
    """Keep only `mask` of the effective and permitted capabilities, and no inheritable ones. Raises OSError."""
    words = [part.to_bytes(4, "little") for part in (mask & 0xFFFFFFFF, mask >> 32)]
    none = bytes(4)
    _checked(_libc.capset(_CAPABILITY_HEADER, b"".join(word + word + none for word in words)))


_CAPABILITY_HEADER = (0x20080522).to_bytes(4, "little") + bytes(4)  # version 3, this thread


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
