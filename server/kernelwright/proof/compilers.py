"""Asks a compiler what it has against a text, in a process of its own: nothing of the text is run."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from kernelwright import wire
from kernelwright.proof.worker.toolchain.errors import CompileError

_PROGRAM = "kernelwright.proof.worker.toolchain.checking"
_ROOT = Path(__file__).parents[2]
_PATIENCE = 60.0  # seconds


async def compile_errors(path: str, text: str, *, quick: bool) -> tuple[CompileError, ...] | None:
    """Find the compile errors of the CUDA C++ text of a file, which need not be saved.

    `quick` takes a fraction of a second, else it may take several. None where nothing here compiles the text, or not in
    time. Cancelling ends the compiler.
    """
    # Neither the folder that the server runs in nor an empty place on the path is searched: modules there are the user's code.
    places = (str(_ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
    # Not asyncio's: a process whose start is cancelled there is waited for without end (Python 3.11).
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", _PROGRAM, path, *(["quick"] if quick else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_PATIENCE):
            printed, _ = await asyncio.to_thread(process.communicate, text.encode("utf-8", "surrogatepass"))
    except TimeoutError:
        return None
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode != 0:
        return None
    found: tuple[CompileError, ...] | None = wire.decode(tuple[CompileError, ...] | None, json.loads(printed))
    return found
