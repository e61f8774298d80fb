"""A place for one worker process at work, with a warm spare behind it, so that a restart costs the user nothing."""

import asyncio
import os
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.proof.process import StartFailed, WorkerProcess
from kernelwright.proof.queue import Turns
from kernelwright.proof.worker.sandbox import secrets

_QUIET = 1.0  # seconds without a job before a spare is started: its imports would disturb a measurement


@dataclass(eq=False)
class Station:
    """One process of one role at a time; its caller holds one of its `turns`. With `keeps_spare`, the next one warms up
    meanwhile. `keep`: variables of the environment that are no secrets. All get the environment of when this was made.
    """

    interpreter: str
    role: str
    cwd: Path | None
    turns: Turns = field(default_factory=Turns)
    keep: Collection[str] = ()
    keeps_spare: bool = False
    variables: dict[str, str] = field(init=False)
    _idle: WorkerProcess | None = None
    _spare: asyncio.Task[WorkerProcess] | None = None
    _spare_began: bool = False
    _endings: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.variables = environment(self.role, self.keep)

    @property
    def at_hand(self) -> bool:
        """Whether a process waits here, or is being started."""
        return self._idle is not None or (self._spare is not None and self._spare_began)

    async def take(self, report: Callable[[str], None]) -> WorkerProcess:
        """A process that takes jobs: the last one, the spare, or a new one. Raises StartFailed."""
        process, self._idle = self._idle, None
        self._call_off_spare()
        if process is not None and await self._good(process):
            self._pause_spare()
            return process
        spare, self._spare = self._spare, None
        if spare is not None:
            ready = await self._warmed(spare)
            if ready is not None and await self._good(ready):
                return ready
        report("starting the worker")
        return await self._start()

    def prepare(self) -> None:
        """Start a process for a job that comes soon, beside what has to be done before it."""
        if self._idle is None and self._spare is None:
            self._spare_began = True
            self._spare = _unwatched(asyncio.create_task(self._start()))

    def hush(self) -> None:
        """Start no spare while another station's job may be timed; one that is ready is stopped until `rest`.

        One that has begun to start goes on: it is waited for where it is needed.
        """
        self._call_off_spare()
        self._pause_spare()

    async def give_back(self, process: WorkerProcess, healthy: bool) -> None:
        """After the job: keep a healthy process, end any other and wait for its end; warm up a spare."""
        if healthy and process.alive:
            self._idle = process
        else:
            self.keeps_spare = True  # what ended one may well end the next
            process.kill()
            await process.gone()
        self.rest()

    async def close(self) -> None:
        """End the processes that wait; one that is taken afterwards is started anew."""
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.cancel()
            await asyncio.gather(spare, return_exceptions=True)
            if not spare.cancelled() and spare.exception() is None:
                self._end(spare.result())
        if self._idle is not None:
            self._end(self._idle)
            self._idle = None
        await asyncio.gather(*self._endings)

    async def _start(self) -> WorkerProcess:
        return await WorkerProcess.start(resolve(self.interpreter), self.role, self.cwd, self.variables)

    def _call_off_spare(self) -> None:
        if self._spare is not None and not self._spare_began:
            self._spare.cancel()
            self._spare = None

    def rest(self) -> None:
        """No job runs anywhere: a spare may warm up."""
        if self._spare is not None and self._spare.done() and not _usable(self._spare):
            if _started(self._spare):
                self._end(self._spare.result())
            self._spare = None
        if self._spare is not None and self._spare.done():
            self._spare.result().resume()
        elif self._spare is None and self.keeps_spare:
            self._spare_began = False
            self._spare = _unwatched(asyncio.create_task(self._begin_spare()))

    def _pause_spare(self) -> None:
        if self._spare is not None and _usable(self._spare):
            self._spare.result().pause()

    async def _begin_spare(self) -> WorkerProcess:
        await asyncio.sleep(_QUIET)
        self._spare_began = True
        return await self._start()

    async def _warmed(self, spare: asyncio.Task[WorkerProcess]) -> WorkerProcess | None:
        if _usable(spare):
            spare.result().resume()
        try:
            ready = await asyncio.shield(spare)
        except StartFailed:
            return None
        except asyncio.CancelledError:
            self._spare = spare  # the caller was cancelled, the spare is still good
            raise
        return ready

    async def _good(self, process: WorkerProcess) -> bool:
        """Whether a process that has waited takes a job; ended when it does not."""
        healthy = False
        try:
            healthy = process.alive and await process.listens()
        finally:  # also when the caller is cancelled: nobody else knows of the process now
            if not healthy:
                self.keeps_spare = True
                self._end(process)
        return healthy

    def _end(self, process: WorkerProcess) -> None:
        process.kill()
        ending = asyncio.create_task(process.gone())
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)


def resolve(interpreter: str) -> str:
    """The interpreter as a path: `~` and bare names are looked up, a virtual environment's folder means its Python."""
    path = Path(interpreter).expanduser()
    if path.is_dir():
        return str(path / "bin" / "python")
    if os.sep not in interpreter:
        return shutil.which(interpreter) or interpreter
    return str(path)


def environment(role: str, keep: Collection[str] = ()) -> dict[str, str]:
    """The server's environment without its secrets, but with those named in `keep`.

    The compiler sees no GPU, and Triton's mode is the worker's choice.
    """
    variables = secrets.scrubbed(os.environ, keep)
    variables.pop(secrets.KEEP, None)
    if keep:
        variables[secrets.KEEP] = ",".join(sorted(keep))
    variables.pop("TRITON_INTERPRET", None)
    if role == "compile":
        variables["CUDA_VISIBLE_DEVICES"] = ""
    # No folder that happens to be the current one may bring modules: it may be that of a text that is only judged.
    variables["PYTHONSAFEPATH"] = "1"
    if places := [os.path.abspath(place) for place in variables.get("PYTHONPATH", "").split(os.pathsep) if place]:
        variables["PYTHONPATH"] = os.pathsep.join(places)
    else:
        variables.pop("PYTHONPATH", None)
    if role == "judge":
        # Threads that spin after their work in one process would take the cores from the process that is timed next.
        variables["OMP_WAIT_POLICY"] = "PASSIVE"
    return variables


def _unwatched(task: asyncio.Task[WorkerProcess]) -> asyncio.Task[WorkerProcess]:
    """Its failure is told when somebody takes it; until then it is nobody's."""
    task.add_done_callback(lambda task: task.cancelled() or task.exception())
    return task


def _usable(task: asyncio.Task[WorkerProcess]) -> bool:
    return _started(task) and task.result().alive


def _started(task: asyncio.Task[WorkerProcess]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
