"""What a job has left in a worker: settings are put back; what cannot be makes the process one that is not used again."""

import builtins
import contextlib
import gc
import itertools
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from kernelwright.proof.worker import processes, surroundings

_MORE_DESCRIPTORS = 64  # open ones that libraries and the GPU's driver may keep for themselves
_MORE_FILES = 8  # of these with a place on a disk
_NO_DISK = ("/dev/", "/proc/", "/sys/", "/memfd:")
_MORE_BYTES = 16 << 20  # of temporary files, likewise
_MOST_ENTRIES = 10_000  # in the temporary folder that are looked at
_LIBRARIES = ("kernelwright", "torch", "triton")  # whose threads, and own replacements of functions, are their business
_COMPILERS = (b"torch/_inductor", b"torch._inductor")  # which torch.compile keeps for the next time

_once: list[str] = []  # what the imports of a text changed, which do nothing when they are imported again


@dataclass(frozen=True)
class Before:
    """How a worker was before its first job."""

    threads: frozenset[int]
    descriptors: int
    files: int
    temporary: int  # bytes in the worker's own folder
    functions: Mapping[tuple[int, str], Any]
    settings: Mapping[str, Any]
    children: frozenset[int]


def note() -> Before:
    """How this worker is now."""
    return Before(
        frozenset(thread.ident or 0 for thread in threading.enumerate()),
        *_open(),
        _temporary_bytes(),
        {(id(owner), name): value for owner, name, value in _functions()},
        surroundings.read(_rows()),
        frozenset(processes.children(os.getpid())),
    )


def settle(before: Before, *, end_children: bool) -> str:
    """Put back what can be. What is left that cannot, in words; "" for nothing: the worker is as good as new.

    `end_children`: processes that are not of before are ended; else they are something that is left.
    """
    surroundings.write(before.settings, _rows())
    gc.enable()
    if end_children:
        processes.end_children(before.children)
    return next(filter(None, (look(before) for look in _LOOKS)), "")


def happened_once(names: Iterable[str]) -> None:
    """Note settings that imports have changed: a later text of this process would be judged without that."""
    _once.extend(names)


def _imports(before: Before) -> str:
    return f"its imports have changed {', '.join(_once)}, once for all" if _once else ""


def _other_settings(before: Before) -> str:
    changed = surroundings.differences(before.settings, surroundings.read(_rows()))
    return f"it has changed the process: {'; '.join(changed)}" if changed else ""


def _other_functions(before: Before) -> str:
    for owner, name, value in _functions():
        known = before.functions.get((id(owner), name))
        added = known is None and not isinstance(value, FunctionType)  # libraries load some of theirs late
        if known is not value and not added and not _of_a_library(getattr(value, "__module__", None)):
            return f"it has replaced {getattr(owner, '__name__', owner)}.{name}"
    return ""


def _other_streams(before: Before) -> str:
    closed = any(getattr(stream, "closed", True) for stream in (sys.stdout, sys.stderr))  # None has no such attribute
    return "it has closed the standard streams" if closed else ""


def _more_threads(before: Before) -> str:
    for thread in threading.enumerate():
        target = getattr(getattr(thread, "_target", None), "__module__", None) or type(thread).__module__
        if thread.ident not in before.threads and not _of_a_library(target):
            return f"its thread {thread.name} still runs"
    return ""


def _more_files(before: Before) -> str:
    descriptors, files = _open()
    if files - before.files > _MORE_FILES:
        return f"it has left {files - before.files} files open"
    more = descriptors - before.descriptors
    return f"it has left {more} descriptors open" if more > _MORE_DESCRIPTORS else ""


def _more_bytes(before: Before) -> str:
    more = _temporary_bytes() - before.temporary
    return f"it has left {more >> 20} MiB of temporary files" if more > _MORE_BYTES else ""


def _more_children(before: Before) -> str:
    left = [pid for pid in processes.children(os.getpid()) if pid not in before.children and not _compiles(pid)]
    return f"{len(left)} of its processes still run" if left else ""


_LOOKS: tuple[Callable[[Before], str], ...] = (
    _imports,
    _other_settings,
    _other_functions,
    _other_streams,
    _more_threads,
    _more_files,
    _more_bytes,
    _more_children,
)


def _functions() -> Iterator[tuple[Any, str, Any]]:
    """The functions whose replacement would change what a later job says: (owner, name, function)."""
    torch = sys.modules.get("torch")
    owners: list[Any] = [builtins, json, math, os, time]
    if torch is not None:
        owners += [torch, torch.Tensor, torch.nn.functional, torch.nn.Module]
    for owner in owners:
        for name, value in list(vars(owner).items()):
            if callable(value) and not name.startswith("__"):
                yield owner, name, value


def _rows() -> Sequence[surroundings.Row]:
    if "torch" not in sys.modules:
        return surroundings.ROWS
    from kernelwright.proof.worker import flags

    return flags.ROWS


def _of_a_library(module: str | None) -> bool:
    return isinstance(module, str) and module.split(".")[0] in _LIBRARIES


def _open() -> tuple[int, int]:
    """This process's open descriptors, and how many of them are files on a disk; 0 of each without /proc."""
    targets: list[str] = []
    with contextlib.suppress(OSError):
        for number in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                targets.append(os.readlink(f"/proc/self/fd/{number}"))
    return len(targets), sum(target.startswith("/") and not target.startswith(_NO_DISK) for target in targets)


def _temporary_bytes() -> int:
    """What the files in this worker's folder take, as far as it is looked through; its caches are elsewhere."""
    walked = os.walk(os.environ.get("TMPDIR", ""))  # nothing where there is no such folder
    found = (os.path.join(folder, name) for folder, _, names in walked for name in names)
    total = 0
    for place in itertools.islice(found, _MOST_ENTRIES):
        with contextlib.suppress(OSError):
            total += os.lstat(place).st_blocks * 512
    return total


def _compiles(pid: int) -> bool:
    command = processes.read(pid, "cmdline")
    return any(words in command for words in _COMPILERS)
