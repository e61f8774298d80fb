"""How every command ends: quietly when interrupted, with one sentence on bad input, and never with a traceback."""

import contextlib
import datetime
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

DONE, GATE_FAILED, BAD_INPUT, LACKING = range(4)
INTERRUPTED, NOBODY_READS = 130, 141  # as shells tell of signals


class BadInput(Exception):
    """One sentence that says what to change."""

    status = BAD_INPUT


class Lacking(BadInput):
    """One sentence that says what this machine or its Python environment lacks."""

    status = LACKING


@contextlib.contextmanager
def told_in_words() -> Iterator[None]:
    """Exit with 2 and one sentence on BadInput or on an error of our own, with 3 on Lacking, with 130 and no words on Ctrl-C.

    A standard stream that is closed is opened as nothing: else the next file or socket would take its number and its output.
    """
    _open_closed_streams()
    try:
        yield
    except BadInput as error:
        _tell(str(error))
        sys.exit(error.status)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001  the last place that can turn a mistake of ours into words
        _tell(_unexpected(error))
        sys.exit(BAD_INPUT)


def _open_closed_streams() -> None:
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, as a rule this one
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def log_file() -> Path:
    """Where unexpected errors are written: the user's state folder, by the custom of the platform."""
    match sys.platform:
        case "darwin":
            folder = Path.home() / "Library" / "Logs"
        case "win32":
            folder = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        case _:
            # The XDG specification: a relative path in the variable is to be ignored.
            named = Path(os.environ.get("XDG_STATE_HOME", ""))
            folder = named if named.is_absolute() else Path.home() / ".local" / "state"
    return folder / "kernelwright" / "kernelwright.log"


def _unexpected(error: Exception) -> str:
    said = str(error).strip().split("\n")[0]
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    try:
        where = f"the details are in {_log(error)}"
    except (OSError, RuntimeError) as unwritten:  # RuntimeError: no home folder
        where = f"the details could not be written to the log ({unwritten})"
    return f"This is a mistake in Kernelwright, not in your file ({what}); {where}. Please report it."


def _log(error: Exception) -> Path:
    log = log_file()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as lines:
        lines.write(f"{datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds')}  {sys.argv[1:]}\n")
        lines.writelines(traceback.format_exception(error))
        lines.write("\n")
    return log


def _tell(sentence: str) -> None:
    from rich.markup import escape

    from kernelwright.cli.console import ERR

    with contextlib.suppress(BadInput):  # nothing can be told there
        ERR.print(f"[red]kernelwright:[/] {escape(sentence)}")
