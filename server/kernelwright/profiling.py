"""One profile for a person, the same from the editor and the command line: find the workload, ask a worker."""

import asyncio
from collections.abc import Callable

from kernelwright.engine import Engine
from kernelwright.languages import LanguageSupport
from kernelwright.languages.python import SUPPORT as PYTHON
from kernelwright.observer import subject_of
from kernelwright.proof.jobs import Profile
from kernelwright.values import Failure, ProfileResult, Refusal, WorkloadSource


async def profile(
    engine: Engine,
    path: str,
    text: str,
    kernel: str,
    *,
    support: LanguageSupport = PYTHON,
    report: Callable[[str], None] = lambda stage: None,
    cancel: asyncio.Event | None = None,
) -> ProfileResult | Refusal | Failure:
    """What one warm call of the kernel's performance case launches, on the text as it stands."""
    report("Looking at the device")
    device = await engine.device()
    if isinstance(device, Failure):
        return device
    observation = engine.observe(path, text, kernel, support=support)
    if isinstance(observation, Refusal):
        return observation
    workload = observation.support.workload(text, observation.kernel.entry)
    if isinstance(workload, Refusal):
        return workload
    if workload.source is WorkloadSource.PROGRAM:
        return Refusal("A program is not profiled: write a workload line that launches the kernel.")
    answer = await engine.workers.run(
        Profile(subject_of(observation), engine.limits),
        timeout=engine.settings.verify_timeout,
        report=report,
        cancel=cancel,
    )
    assert isinstance(answer, ProfileResult | Failure)  # the contract of Profile
    return answer
