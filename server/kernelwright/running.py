"""A test or script of the user's, run once in a Python process of its own with its calls of kernels watched."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright import callers, recording
from kernelwright.proof.worker.sandbox.secrets import names, scrubbed
from kernelwright.recording import Entry, Recorded
from kernelwright.settings import Settings
from kernelwright.values import Refusal

Report = Callable[[str], None]

_SHOWN = 100  # characters of a line of the run's output
_LAST_WORDS = 1.0  # seconds


@dataclass(frozen=True)
class Ran:
    """How a run ended: None for the status of one that the person stopped. `last`: of its output."""

    status: int | None
    last: str
    found: tuple[Recorded, ...]


def arguments_for(script: Path, *more: str) -> tuple[str, ...]:
    """What Python is started with to run `script`: a test by way of pytest, a program of CUDA C++ in the emulator."""
    if script.suffix == ".cu":
        return ("-m", recording.PROGRAM, str(script), *more)
    return (*(("-m", "pytest", "-q") if callers.is_test(script) else ()), str(script), *more)


async def run(
    settings: Settings,
    arguments: Sequence[str],
    root: Path,
    entries: Sequence[Entry],
    report: Report,
    cancel: asyncio.Event,
) -> Ran | Refusal:
    """Start Python with `arguments` in `root`, until it ends or is cancelled, without secrets in its environment."""
    command = [settings.interpreter or sys.executable, *arguments]
    with recording.watch(entries, scrubbed(os.environ, names(settings.keep_environment))) as watch:
        if recording.PROGRAM in arguments:
            report("In the emulator")
        elif watch.without_gpu:
            report("Without a GPU, in Triton's interpreter")
        try:
            process = await _started(command, watch.environment, root)
        except OSError as error:
            why = f"{command[0]} cannot be started ({error.strerror})"
            return Refusal(f"{why}: set kernelwright.interpreter to your Python.")
        status, last = await _followed(process, report, cancel)
        return Ran(status, last, tuple(await asyncio.to_thread(watch.found)))


def told(ran: Ran | Refusal, name: str) -> str:
    """The sentence for a person: how many lines for how many kernels, or why there are none."""
    if isinstance(ran, Refusal):
        return ran.reason
    ended = "was stopped" if ran.status is None else f"ended with status {ran.status}" if ran.status else ""
    why = f" It {ended}{f': {ran.last}' if ran.status else ''}." if ended else ""
    lines = sum(len(one.lines) for one in ran.found)
    kernels = sum(len(one.entry.kernels) for one in ran.found if one.lines)
    if lines:
        return f"Recorded {_count(lines, 'workload line')} for {_count(kernels, 'kernel')} from {name}.{why}"
    refused = next((f" {one.entry.name} was called, but {one.refused[0]}." for one in ran.found if one.refused), "")
    return f"{name} called no kernel in a way that a workload line can say.{refused}{why}"


async def _started(command: Sequence[str], environment: Mapping[str, str], root: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command,
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


async def _followed(
    process: asyncio.subprocess.Process, report: Report, cancel: asyncio.Event
) -> tuple[int | None, str]:
    """The exit status, None where it was stopped, and the last line of the output, which is reported as it comes."""
    said = [""]

    async def listen() -> None:
        assert process.stdout is not None
        tail = b""
        while chunk := await process.stdout.read(4096):
            tail = (tail + chunk)[-4096:]
            lines = [line.strip() for line in tail.decode(errors="replace").splitlines() if line.strip()]
            said[0] = lines[-1][:_SHOWN] if lines else said[0]
            report(said[0])

    listening, stopped = asyncio.ensure_future(listen()), asyncio.ensure_future(cancel.wait())
    ended = asyncio.ensure_future(process.wait())
    try:
        await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({listening}, timeout=0 if cancel.is_set() else _LAST_WORDS)  # a child may hold the pipe open
        return (ended.result() if ended.done() else None), said[0]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        listening.cancel()
        stopped.cancel()


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
