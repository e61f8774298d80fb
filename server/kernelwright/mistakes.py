"""What ends a request without a result: bad input, something that is lacking here, or a mistake of our own."""

import datetime
import os
import sys
import traceback
from pathlib import Path


class BadInput(Exception):
    """One sentence that says what to change."""


class Lacking(BadInput):
    """One sentence that says what this machine or its Python environment lacks."""


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


def unexpected(error: BaseException) -> str:
    """The sentence for an error of our own; its traceback goes to the log."""
    said = str(error).strip().split("\n")[0]
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    try:
        where = f"the details are in {_log(error)}"
    except (OSError, RuntimeError) as unwritten:  # RuntimeError: no home folder
        where = f"the details could not be written to the log ({unwritten})"
    return f"This is a mistake in Kernelwright, not in your file ({what}); {where}. Please report it."


def _log(error: BaseException) -> Path:
    log = log_file()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as lines:
        lines.write(f"{datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds')}  {sys.argv[1:]}\n")
        lines.writelines(traceback.format_exception(error))
        lines.write("\n")
    return log
