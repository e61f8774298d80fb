"""Runs the trials of a test module, several at once where most of their time is not spent on timing."""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest
from corpus import Case

from cheats.outcome import trial_of
from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Answer, TrialResult
from kernelwright.values import Failure

# While the machine is too busy to time on, or a process was ended by SIGKILL: seen in full runs alone, and not explained.
ATTEMPTS = 2

Key = tuple[str, int]  # a case's name, and which repetition


class Bench:
    """The answers to come."""

    def __init__(self, wanted: Sequence[tuple[Case, int]], folder: Path, lanes: int) -> None:
        self._folder = folder
        self._waiting = iter(wanted)
        self._answers: dict[Key, Future[Answer]] = {(s.name, number): Future() for s, number in wanted}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=asyncio.run, args=(self._lane(),)) for _ in range(lanes)]
        for thread in self._threads:
            thread.start()

    def answer(self, case: Case, repetition: int = 0) -> Answer:
        """Waits for it. Raises what the client raised."""
        return self._answers[case.name, repetition].result(timeout=600)

    def close(self) -> None:
        """Let the trials that run end, start no further one."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    async def _lane(self) -> None:
        workers = Workers()
        try:
            while (taken := self._next()) is not None:
                case, number = taken
                future = self._answers[case.name, number]
                try:
                    future.set_result(await self._answer(workers, case, number))
                except Exception as error:  # noqa: BLE001  (the test that waits raises it)
                    future.set_exception(error)
                if "alone" in case.marks:
                    await workers.close()
                    workers = Workers()
        finally:
            await workers.close()

    async def _answer(self, workers: Workers, case: Case, number: int) -> Answer:
        home = self._folder / f"{case}-{number}"
        home.mkdir(parents=True)
        for name, text in case.neighbours.items():
            (home / name).write_text(text, encoding="utf-8")
        for _ in range(ATTEMPTS):
            answer = await workers.run(trial_of(case, home), timeout=case.timeout)
            unsteady = isinstance(answer, TrialResult) and answer.unsteady
            killed = isinstance(answer, Failure) and "SIGKILL from outside" in answer.message
            if not (unsteady or killed):
                break
        return answer

    def _next(self) -> tuple[Case, int] | None:
        with self._lock:
            return None if self._stop.is_set() else next(self._waiting, None)


def bench_for(request: pytest.FixtureRequest, folder: Path, *, lanes: int) -> Iterator[Bench]:
    """The body of a fixture of a module's scope: a Bench for those tests of the module that this run has selected.

    What needs no GPU is written for the CPU, and does not see the GPU of a machine that has one.
    """
    items = [item for item in request.session.items if item.path == request.path and hasattr(item, "callspec")]
    wanted = [_wanted(item.callspec.params) for item in items]
    with pytest.MonkeyPatch.context() as patch:
        if not any("gpu" in case.marks for case, _ in wanted):
            patch.setenv("CUDA_VISIBLE_DEVICES", "")
        else:
            lanes = 1  # a second would only wait for the GPU, and give up after a while
        bench = Bench(wanted, folder, lanes)
        yield bench
        bench.close()


def _wanted(params: Mapping[str, object]) -> tuple[Case, int]:
    (case,) = (value for value in params.values() if isinstance(value, Case))
    return case, int(str(params.get("repetition", 0)))
