"""Every mutant through the gate, several at a time, by the public contract of the workers and nothing else."""

import asyncio
import time
from collections.abc import Callable, Iterable

from benchmarks.mutants.baselines import Baseline
from benchmarks.mutants.grading import Outcome, graded
from benchmarks.mutants.mutant import Mutant

from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Limits, Trial
from kernelwright.values import Device, Failure

CONTROL = Mutant("control", "control", 0, "the text without a fault, and one comment more", "")

Told = Callable[[Outcome], None]


class NoDevice(Exception):
    """No worker came up; the message says why."""


async def grade(
    pending: Iterable[tuple[Baseline, Mutant]],
    *,
    jobs: int,
    limits: Limits,
    timeout: float,
    told: Told,
    interpreter: str | None = None,
) -> Device:
    """Try every pair, `jobs` at a time; `told` hears each Outcome as it comes. Raises NoDevice."""
    queue = iter(pending)
    stations = [Workers(interpreter) for _ in range(jobs)]

    async def serve(workers: Workers) -> None:
        for baseline, mutant in queue:
            start = time.monotonic()
            answer = await workers.run(trial(baseline, mutant, limits), timeout=timeout)
            told(graded(baseline.name, mutant, answer, time.monotonic() - start))

    try:
        device = await stations[0].device()
        if isinstance(device, Failure):
            raise NoDevice(device.message)
        await asyncio.gather(*(serve(workers) for workers in stations))
        return device
    finally:
        await asyncio.gather(*(workers.close() for workers in stations))


def trial(baseline: Baseline, mutant: Mutant, limits: Limits) -> Trial:
    """The mutant as a candidate for its baseline. A control is the text without a fault, with a comment behind it."""
    in_cuda = baseline.language == "CUDA C++"
    candidate = mutant.text or baseline.right + f"\n{'//' if in_cuda else '#'} The same text again.\n"
    return Trial(
        str(baseline.path),
        baseline.text,
        baseline.text,
        candidate,
        baseline.workload,
        measure=False,
        limits=limits,
        language="cuda-cpp" if in_cuda else "python",
        rewritten=bool(baseline.rewrite),
    )
