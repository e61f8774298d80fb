"""What a user's text raises, told as a Failure with the line of that text; and the scratch folder that holds the text."""

import atexit
import os
import shutil
import tempfile
import traceback
from pathlib import Path

from kernelwright.proof.worker import failed
from kernelwright.values import Failure, FailureKind


def failure_of(error: BaseException, doing: str, kind: FailureKind) -> Failure:
    """`error`, raised while `doing`, as a Failure; a lack of memory and a GPU that is gone are named as what they are."""
    if failed.is_gone(error) or failed.needs_gpu(error) or failed.cuda_compiler(error):
        return failed.failure_of(error)
    if failed.is_out_of_memory(error):
        message = "There is not enough memory for this workload."
        return Failure(FailureKind.OUT_OF_MEMORY, message, trace_of(error), line_of(error))
    return Failure(kind, f"{doing} {describe(error)}", trace_of(error), line_of(error))


def describe(error: BaseException) -> str:
    """ "ValueError: first line of the message", short enough for one sentence."""
    lines = str(error).strip().splitlines()
    first = lines[0].strip() if lines else ""
    first = first if len(first) <= 200 else first[:197] + "..."
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def line_of(error: BaseException) -> int | None:
    """The innermost line, counted from 0, of a text loaded by load_module in the error's traceback."""
    if isinstance(error, SyntaxError) and error.lineno:
        return error.lineno - 1
    ours = str(scratch_folder())
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(ours) and f.lineno]
    return lines[-1] - 1 if lines else None


def trace_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


_folder: Path | None = None


def scratch_folder() -> Path:
    """One folder for all scratch files of this process, removed when it ends."""
    global _folder
    if _folder is None or not _folder.is_dir():  # somebody may have cleaned up
        _folder = Path(tempfile.mkdtemp(prefix="kernelwright-")).resolve()
        owner = os.getpid()
        atexit.register(lambda: os.getpid() == owner and shutil.rmtree(str(_folder), ignore_errors=True))
    return _folder
