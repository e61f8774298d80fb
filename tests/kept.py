"""Workers that outlive a test: one after another is lent the processes of the tests before it, which take seconds to start."""

import asyncio
import functools
import os
import threading
import unittest.mock
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from kernelwright.proof.client import Priority, Workers
from kernelwright.proof.jobs import Answer, Job
from kernelwright.values import Device, Failure

_environment: dict[str, str] = {}


class Lent:
    """The Workers of `_kept`, asked from any event loop; to close it leaves them running."""

    def __init__(self) -> None:
        self._workers, self._loop = _kept()
        self.interpreter = self._workers.interpreter

    async def device(self) -> Device | Failure:
        return await self._there(self._workers.device())

    def expect_trial(self) -> None:
        self._loop.call_soon_threadsafe(self._workers.expect_trial)

    def expect_compile(self) -> None:
        self._loop.call_soon_threadsafe(self._workers.expect_compile)

    async def run(
        self,
        job: Job,
        *,
        timeout: float,
        report: Callable[[str], None] | None = None,
        priority: Priority = Priority.REQUEST,
        cancel: asyncio.Event | None = None,
    ) -> Answer:
        here, stop = asyncio.get_running_loop(), asyncio.Event()
        told = functools.partial(here.call_soon_threadsafe, report or (lambda words: None))
        telling = asyncio.create_task(self._tell(cancel, stop)) if cancel is not None else None
        try:
            running = self._workers.run(job, timeout=timeout, report=told, priority=priority, cancel=stop)
            return await self._there(running)
        finally:
            if telling is not None:
                telling.cancel()

    async def close(self) -> None:
        pass

    async def _tell(self, cancel: asyncio.Event, stop: asyncio.Event) -> None:
        await cancel.wait()
        self._loop.call_soon_threadsafe(stop.set)

    async def _there(self, work: Coroutine[Any, Any, Any]) -> Any:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


def lent(interpreter: str | None, *, cwd: Path, keep: str = "") -> Workers | Lent:
    """What a command makes Workers by; who names an interpreter, or variables to keep, gets processes of its own."""
    return Workers(interpreter, cwd=cwd, keep=keep) if interpreter or keep else Lent()


def begin() -> None:
    """Have the processes get the environment of now, and not what a test changes for itself."""
    _environment.update(os.environ)


def end() -> None:
    """End the processes, where any were lent."""
    if _kept.cache_info().currsize:
        workers, loop = _kept()
        asyncio.run_coroutine_threadsafe(workers.close(), loop).result(timeout=10)


@functools.cache
def _kept() -> tuple[Workers, asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    with unittest.mock.patch.dict(os.environ, _environment, clear=True):
        return Workers(), loop
