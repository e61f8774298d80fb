"""Reading and writing what a person named: all of a file or nothing, and never over what somebody else wrote meanwhile."""

import codecs
import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kernelwright.mistakes import BadInput

STDOUT = Path("-")  # in the place of a result's file
_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def read(file: Path) -> str:
    """The file's text with its line ends as they are, without a byte order mark, as an editor has it. Raises BadInput."""
    try:
        if not stat.S_ISREG(mode := file.stat().st_mode) and not stat.S_ISDIR(mode):
            raise BadInput(f"{file} is {_KINDS.get(stat.S_IFMT(mode), 'no regular file')}; name a Python file.")
        return file.read_bytes().removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except FileNotFoundError:
        raise BadInput(f"{file} does not exist.") from None
    except IsADirectoryError:
        raise BadInput(f"{file} is a folder; name a Python file.") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{file} is not UTF-8 (byte {error.start}); save it as UTF-8 first.") from None
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {_why(error)}.") from None


def replace(file: Path, expected: str, text: str) -> None:
    """Put `text` in the place of `expected`; where the file holds anything else by now, nothing is written.

    A symbolic link stays one, and what it points to is replaced; a byte order mark stays. Raises BadInput.
    """
    replace_all(((file, expected, text),))


def replace_all(changes: Sequence[tuple[Path, str, str]]) -> None:
    """As `replace`, for several files with what each holds and is to hold: all are written, or none. Raises BadInput."""
    found = [_held(file, expected) for file, expected, _ in changes]
    put: list[tuple[Path, bytes]] = []
    for (file, expected, text), (target, mark) in zip(changes, found, strict=True):
        try:
            _put(target, mark + text.encode("utf-8"))
        except BaseException as error:
            for earlier, content in put:
                _put(earlier, content)
            if not isinstance(error, OSError):
                raise
            raise BadInput(f"{file} cannot be written: {_why(error)}; nothing was changed.") from None
        put.append((target, mark + expected.encode("utf-8")))


def _held(file: Path, expected: str) -> tuple[Path, bytes]:
    """What a path points to, and its byte order mark. Raises BadInput where it does not hold `expected`, or is read-only."""
    try:
        # A link may be pointed elsewhere at any moment: look once, then use what was seen.
        target = file.resolve(strict=True)
        held = target.read_bytes()
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {_why(error)}; nothing was changed.") from None
    mark = codecs.BOM_UTF8 if held.startswith(codecs.BOM_UTF8) else b""
    if held != mark + expected.encode("utf-8"):
        raise BadInput(f"{file} changed while it was being optimised; nothing was written.")
    if not _writable(target):
        raise BadInput(f"{file} is read-only; nothing was written.")
    return target, mark


def write_result(file: Path, text: str) -> None:
    """Write a result, over an older one if there is one. Raises BadInput."""
    try:
        target = file.resolve()
        if target.exists() and not target.is_file():  # a pipe or a device: there is nothing to keep whole
            target.write_bytes(text.encode("utf-8"))
        else:
            _put(target, text.encode("utf-8"))
    except OSError as error:
        raise BadInput(f"The result cannot be written to {file}: {_why(error)}.") from None


def check_result(file: Path | None, *sources: Path | None) -> None:
    """Find out before the work whether a result could be written to `file`. Raises BadInput."""
    if file is None or file == STDOUT:
        return
    if file.is_dir():
        raise BadInput(f"{file} is a folder; name a file for the result.")
    if not file.parent.is_dir():
        raise BadInput(f"The result cannot be written to {file}: the folder {file.parent} does not exist.")
    if any(source is not None and file.resolve() == source.resolve() for source in sources):
        raise BadInput(f"The result would overwrite {file}; name another file for it.")
    if file.is_fifo() and not _has_reader(file):
        raise BadInput(f"{file} is a named pipe that nobody reads; name a file for the result.")
    writable = file if file.exists() else file.parent
    if not _writable(writable):
        raise BadInput(f"The result cannot be written to {file}: {writable} is read-only.")


def _has_reader(pipe: Path) -> bool:
    """Whether opening the named pipe for writing would not wait."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        return error.errno != errno.ENXIO
    return True


def _put(target: Path, content: bytes) -> None:
    """Write beside `target`, then put that in its place, with its mode and, where allowed, its owner."""
    descriptor, beside = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".kernelwright", dir=target.parent)
    try:
        with open(descriptor, "wb") as new:
            new.write(content)
            new.flush()
            _like(new.fileno(), target)
            os.fsync(new.fileno())
        os.replace(beside, target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _like(descriptor: int, target: Path) -> None:
    try:
        old = target.stat()
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(descriptor, 0o666 & ~mask)
        return
    if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
        # Another's file in a folder of ours: only the content and the mode can be kept.
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, old.st_mode & 0o7777)


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _why(error: OSError) -> str:
    return error.strerror or str(error)
