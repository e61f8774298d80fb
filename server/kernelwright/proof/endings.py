"""The ways in which a worker process can end or fail to start, as Failures with a sentence for the user."""

import signal
import tempfile

from kernelwright.proof.worker.ended import line_in_dump
from kernelwright.values import Failure, FailureKind

_CHOOSE = "set kernelwright.interpreter to the Python (3.11 or newer) of your project"


def garbage(words: str, log: str) -> Failure:
    """Bytes on the result pipe that the worker did not write."""
    return Failure(
        FailureKind.CRASHED,
        "The code wrote into the worker's result pipe: it must not write to file descriptors that it did not open.",
        f"{words}\n{log}",
    )


def timed_out(seconds: float, log: str, path: str = "") -> Failure:
    """A job that was killed after `seconds`; the log ends with the stacks of its threads."""
    line = line_in_dump(log, path)
    at = f", then at line {line + 1}" if line is not None else ""
    message = f"No answer within {seconds:g} s{at}."
    return Failure(FailureKind.TIMED_OUT, message, log, line)


def too_much_memory(used: int, limit: int) -> Failure:
    gib = 1 << 30
    message = f"The code used {used / gib:.1f} GiB of host memory, the limit is {limit / gib:.1f} GiB."
    return Failure(FailureKind.OUT_OF_MEMORY, message)


CANCELLED = Failure(FailureKind.CANCELLED, "Cancelled.")
CLOSED = Failure(FailureKind.CANCELLED, "Cancelled: the workers were closed.")


def busy(seconds: float) -> Failure:
    message = f"Another Kernelwright has used this GPU for {seconds:g} s."
    return Failure(FailureKind.DEVICE_BUSY, message)


def gone(name: str) -> Failure:
    """The GPU that the jobs before this one had is not seen by a new process."""
    message = f"{name} can no longer be used: see what `nvidia-smi` and `kernelwright doctor` say, then try again."
    return Failure(FailureKind.DEVICE_GONE, message)


def not_started(interpreter: str, error: OSError) -> Failure:
    """The system would not run the interpreter."""
    match error:
        case FileNotFoundError():
            message = f"The interpreter {interpreter} does not exist: {_CHOOSE}."
        case PermissionError():
            message = f"The interpreter {interpreter} is not an executable file: {_CHOOSE}."
        case _:
            message = f"The interpreter {interpreter} cannot be run ({error.strerror}): {_CHOOSE}."
    return Failure(FailureKind.NO_INTERPRETER, message, str(error))


def no_scratch(error: OSError) -> Failure:
    """There is no room, or no right, for a worker's temporary files."""
    message = (
        f"No temporary files can be made ({error.strerror}): free space in {tempfile.gettempdir()}, or set TMPDIR to "
        "another folder."
    )
    return Failure(FailureKind.DISK_FULL, message, str(error))


def too_old(interpreter: str, version: str) -> Failure:
    message = f"{interpreter} is Python {version}, which is too old: {_CHOOSE}."
    return Failure(FailureKind.NO_INTERPRETER, message)


def start_timed_out(interpreter: str, seconds: float, log: str) -> Failure:
    message = f"{interpreter} did not start the worker within {seconds:g} s: {_CHOOSE}."
    return Failure(FailureKind.NO_INTERPRETER, message, log)


def start_broken(interpreter: str, kind: FailureKind, code: int | None, log: str) -> Failure:
    """Ended before it took jobs: not a Python at all, torch crashes while it is imported, or somebody has killed it."""
    how = "" if code is None else f" (it ended with {'signal' if code < 0 else 'exit code'} {abs(code)})"
    if code in (-signal.SIGKILL, -signal.SIGTERM):  # neither an interpreter nor torch does that to itself
        message = (
            f"{interpreter} was killed while it started{how}: free memory if the system is short of it, and try again."
        )
        return Failure(FailureKind.CRASHED, message, log)
    if kind is FailureKind.CRASHED:
        message = f"Importing torch ended {interpreter}{how}: reinstall torch there, or choose another interpreter."
    else:
        message = f"{interpreter} did not start as a Python{how}: {_CHOOSE}."
    return Failure(kind, message, log)
