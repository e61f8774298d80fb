"""Asks a program of ours about a text, in a process of its own: nothing of the text is run."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).parents[2]


async def answer(module: str, arguments: Sequence[str], text: str, patience: float) -> bytes | None:
    """Run a module with a text on its standard input and give what it prints; None where it fails, or takes more seconds.

    Cancelling ends it.
    """
    # Neither the folder that the server runs in nor an empty place on the path is searched: modules there are the user's code.
    places = (str(_ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
    # Not asyncio's: a process whose start is cancelled there is waited for without end (Python 3.11).
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(patience):
            printed, _ = await asyncio.to_thread(process.communicate, text.encode("utf-8", "surrogatepass"))
    except TimeoutError:
        return None
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return printed if process.returncode == 0 else None
