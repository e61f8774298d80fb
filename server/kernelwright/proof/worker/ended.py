"""How a process that ran user code has ended, as a Failure with a sentence for the user. Standard library only."""

import re
import signal
from pathlib import PurePath

from kernelwright.values import Failure, FailureKind

OWN_FAULT = 70  # the exit code of a process that failed outside of the user's code; sysexits calls it EX_SOFTWARE
BROKEN = 71  # of a process whose own part failed after it had run user code
_LONGEST = 120  # characters of what code has printed
_SIGNALS = {
    signal.SIGSEGV: "a segmentation fault (SIGSEGV): look for an access out of bounds",
    signal.SIGBUS: "a bus error (SIGBUS): look for an access out of bounds, or a full disk",
    signal.SIGABRT: "an abort (SIGABRT): look for a failed assertion in native code",
    signal.SIGFPE: "an arithmetic error (SIGFPE): look for an integer division by zero",
    signal.SIGILL: "an illegal instruction (SIGILL): look for a package built for another processor",
    signal.SIGKILL: "SIGKILL from outside: the system may have run out of memory; use smaller sizes",
    signal.SIGTERM: "SIGTERM from outside",
}


def ended(code: int | None, log: str, path: str = "") -> Failure:
    """A process that ended in the middle of a job: `code` is its exit code, negative for a signal, None if it lives."""
    line = line_in_dump(log, path)
    at = f" at line {line + 1}" if line is not None else ""
    if code is None:
        message = "The code closed the worker's result pipe."
    elif code == OWN_FAULT and "Traceback (most recent call last)" in log:  # the code can exit with any number
        message = "Kernelwright's own process around the code failed; please report what the log says."
    elif code == BROKEN:
        message = (
            "The code broke the process that it ran in: it must close no file descriptors that it did not open, and leave "
            "Python's modules as they are."
        )
    elif code >= 0:
        message = f"The code ended the process with exit code {code}{_said_last(log)}: remove the call of exit()."
    else:
        words = _SIGNALS.get(signal.Signals(-code)) if -code in signal.valid_signals() else None
        message = f"The code crashed{at} with {words or f'signal {-code}'}."
    return Failure(FailureKind.CRASHED, message, log, line)


def _said_last(log: str) -> str:
    """The last line that the code printed, as a part of a sentence: a check of CUDA's errors tells there why it exits."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return f" after it had printed `{lines[-1][:_LONGEST]}`" if lines and "Fatal Python error" not in log else ""


def line_in_dump(log: str, path: str) -> int | None:
    """The line (from 0) of the innermost frame in the user's file, in a dump of faulthandler."""
    if not path:
        return None
    # The worker runs a copy of the text under the same file name in a scratch folder.
    name = re.escape(PurePath(path).name)
    found = re.search(rf'File "[^"]*/kernelwright-[^"/]+/\d+/{name}", line (\d+)', log)
    return int(found[1]) - 1 if found else None
