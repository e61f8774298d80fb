"""The server's side of the workers: a job goes in, an answer or one typed Failure comes out, whatever user code does."""

import asyncio
import contextlib
import dataclasses
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.proof import endings, gpu_lock, memory
from kernelwright.proof.jobs import Answer, Compile, Contest, Job, Probe, Profile, Race, RaceResult, Trial, TryLines
from kernelwright.proof.process import Broken, StartFailed, WorkerProcess
from kernelwright.proof.queue import Priority, Turns
from kernelwright.proof.station import Station
from kernelwright.proof.worker.ended import ended
from kernelwright.proof.worker.sandbox import secrets
from kernelwright.values import Device, Failure, FailureKind, ProfiledOn, ProfileResult

__all__ = ["Priority", "Workers"]

Report = Callable[[str], None]

_PROBE_LIMIT = 120.0  # seconds; a GPU that was asleep takes a while
_GPU_WAIT = 300.0  # seconds for what others do on the GPU
_DEFAULT_CAPABILITY = 90  # what is compiled for without a GPU


@dataclass(frozen=True)
class _Order:
    """A job, and how it is asked."""

    job: Job
    timeout: float
    report: Report
    priority: Priority = Priority.REQUEST


class _GpuAppeared(Exception):
    """A new process sees a GPU where there was none when the device was asked for."""


class Workers:
    """The worker processes of one interpreter. Make it anywhere; use and close it in one event loop.

    `memory_limit` in bytes of host memory per worker; None: three quarters of the machine's. `keep`: variables of the
    environment, separated by commas, that its processes get although they look like secrets.
    """

    def __init__(
        self,
        interpreter: str | None = None,
        *,
        cwd: Path | str | None = None,
        memory_limit: int | None = None,
        keep: str = "",
    ) -> None:
        self.interpreter = interpreter or sys.executable
        self._memory_limit = memory.default_limit() if memory_limit is None else memory_limit
        folder = Path(cwd) if cwd is not None else None
        # A trial's judge is never a process that has run a candidate; both kinds of job take turns all the same.
        turns, names = Turns(), secrets.names(keep)
        self._running = Station(self.interpreter, "run", folder, turns, names, keeps_spare=True)
        self._judging = Station(self.interpreter, "judge", folder, turns, names)
        self._compiling = Station(self.interpreter, "compile", folder, keep=names)
        self._device: Device | None = None
        self._lost = False  # the GPU; until there is one again, every job asks
        self._probing = asyncio.Lock()
        self._jobs: set[asyncio.Task[Answer]] = set()
        self._endings: set[asyncio.Task[None]] = set()
        self._closed = False

    async def device(self) -> Device | Failure:
        """What the interpreter sees; asked once, and again after a Failure and while a GPU is gone."""
        answer = await self.run(Probe(), timeout=_PROBE_LIMIT)
        assert isinstance(answer, Device | Failure)  # the contract of Probe
        return answer

    def expect_trial(self) -> None:
        """Start the judge of a Trial that comes soon, beside what comes before it; for the first probe, too."""
        if not self._closed:
            self._judging.prepare()

    def expect_compile(self) -> None:
        """Start the process of a Compile that comes soon, beside what comes before it."""
        if not self._closed:
            self._compiling.prepare()

    async def run(
        self,
        job: Job,
        *,
        timeout: float,
        report: Report | None = None,
        priority: Priority = Priority.REQUEST,
        cancel: asyncio.Event | None = None,
    ) -> Answer:
        """The answer to `job`, never an exception.

        `timeout` in seconds bounds the job itself, not its waiting for others. `report` gets the stages in words.
        Setting `cancel`, or cancelling the calling task, kills the job's process at once.
        """
        if self._closed:
            return endings.CLOSED
        work = asyncio.create_task(self._work(_Order(job, timeout, report or (lambda words: None), priority)))
        self._jobs.add(work)
        waits: set[asyncio.Task[Any]] = {work}
        if cancel is not None:
            waits.add(asyncio.create_task(cancel.wait()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if work.done() and not work.cancelled():
                return work.result()
            return endings.CLOSED if self._closed else endings.CANCELLED
        finally:
            for task in waits:
                task.cancel()
            # A job that is killed holds its turn until the process is gone; the caller need not wait for that.
            work.add_done_callback(self._jobs.discard)

    async def close(self) -> None:
        """End every job and every process."""
        self._closed = True
        jobs = list(self._jobs)
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, *self._endings, return_exceptions=True)
        await asyncio.gather(*(station.close() for station in (self._running, self._judging, self._compiling)))

    async def _work(self, order: _Order) -> Answer:
        job = order.job
        if isinstance(job, Probe):
            return await self._probe()
        if isinstance(job, Compile) and job.compute_capability:
            return await self._in_turn(self._compiling, order)
        if isinstance(job, Trial):
            self.expect_trial()
        device = await self._probe()
        if isinstance(device, Failure):
            return device
        if isinstance(job, Compile):
            job = dataclasses.replace(job, compute_capability=device.compute_capability or _DEFAULT_CAPABILITY)
            return await self._in_turn(self._compiling, dataclasses.replace(order, job=job))
        station = self._judging if isinstance(job, Trial | TryLines) else self._running
        try:
            answer = await self._in_turn(station, order, device)
        except _GpuAppeared:
            self._device = None
            return await self._work(order)
        if isinstance(answer, Failure) and answer.kind is FailureKind.DEVICE_GONE and device.is_gpu:
            self._device, self._lost = None, True
        return answer

    async def _probe(self) -> Device | Failure:
        async with self._probing:
            if self._device is not None and (self._device.is_gpu or not self._lost):
                return self._device
            # A judge that is there, or starting, is asked where no other is: two would slow each other's imports of torch.
            judged = self._judging.at_hand and not self._running.at_hand
            order = _Order(Probe(), _PROBE_LIMIT, lambda words: None)
            answer = await self._in_turn(self._judging if judged else self._running, order)
            assert isinstance(answer, Device | Failure)  # the contract of Probe
            if isinstance(answer, Device):
                self._device, self._lost = answer, self._lost and not answer.is_gpu
            return answer

    async def _in_turn(self, station: Station, order: _Order, device: Device | None = None) -> Answer:
        if station.turns.busy:
            order.report("waiting for another job")
        try:
            async with station.turns.turn(order.priority):
                if device is not None and device.is_gpu:
                    station.prepare()  # while others have the GPU
                async with _exclusive(device, order.report), self._hushed(station):
                    return await self._ask(station, order, device)
        except gpu_lock.Busy:
            return endings.busy(_GPU_WAIT)

    @contextlib.asynccontextmanager
    async def _hushed(self, station: Station) -> AsyncIterator[None]:
        """No spare of the other station starts within it: that may be timed, and imports take all of a core."""
        measuring = station is not self._compiling
        others = [one for one in (self._running, self._judging) if one is not station and measuring]
        for other in others:
            other.hush()
        try:
            yield
        finally:
            for other in others:
                if not self._closed:
                    other.rest()

    async def _ask(self, station: Station, order: _Order, device: Device | None) -> Answer:
        try:
            process = await station.take(order.report)
            if device is not None and process.sees_gpu is not device.is_gpu:
                # It may have been started before the GPU came or went.
                await station.give_back(process, healthy=False)
                await station.close()
                process = await station.take(order.report)
        except StartFailed as failed:
            return failed.failure
        healthy = False
        try:
            if device is not None and process.sees_gpu is not device.is_gpu:
                healthy = True
                if process.sees_gpu:
                    raise _GpuAppeared
                return endings.gone(device.name)
            answer, healthy = await self._attempt(process, order)
            return answer
        finally:
            # Cancelling may not interrupt this: the turn is held until the process is gone.
            ending = asyncio.create_task(station.give_back(process, healthy))
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)
            await asyncio.shield(ending)

    async def _attempt(self, process: WorkerProcess, order: _Order) -> tuple[Answer, bool]:
        """The answer, and whether the process can be used again."""
        timeout, subject = order.timeout, getattr(order.job, "subject", order.job)
        path = getattr(subject, "path", "")
        asking = asyncio.create_task(process.ask(order.job, order.report))
        watching = asyncio.create_task(process.watch(self._memory_limit))
        try:
            await asyncio.wait({asking, watching}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done() and watching.done() and watching.result() is None:
                await asyncio.wait({asking}, timeout=0.2)  # the end of the pipe, or a reply just before the end
            if asking.done():
                reply = asking.result()
                return reply.answer, not reply.spent and _clean(order.job, reply.answer)
            if watching.done():
                too_much = watching.result()
                return too_much or ended(await process.exit_code(1.0), process.log_tail, path), False
            await process.interrupt()
            return endings.timed_out(timeout, process.log_tail, path), False
        except Broken as broken:
            if words := str(broken):
                return endings.garbage(words, process.log_tail), False
            return ended(await process.exit_code(1.0), process.log_tail, path), False
        finally:
            for task in (asking, watching):
                task.cancel()
            await asyncio.gather(asking, watching, return_exceptions=True)


@contextlib.asynccontextmanager
async def _exclusive(device: Device | None, report: Report) -> AsyncIterator[None]:
    """The GPU to ourselves; nothing to hold for a CPU."""
    if device is None or not device.is_gpu:
        yield
        return
    async with gpu_lock.gpu_lock(device.uuid or f"index-{device.index}", timeout=_GPU_WAIT, report=report):
        yield


def _clean(job: Job, answer: Answer) -> bool:
    """Whether nothing went wrong that may linger in the process: a wrong candidate may have written anywhere."""
    if isinstance(job, Profile):
        # A profiler that was attached to the GPU may slow what is launched later.
        return isinstance(answer, ProfileResult) and answer.measured_on is not ProfiledOn.GPU
    if isinstance(job, Race | Contest):
        told = answer.timings if isinstance(answer, RaceResult) else (answer,)
        return not any(isinstance(one, Failure) for one in told)
    return True  # a trial's candidate ran in a process of its own
