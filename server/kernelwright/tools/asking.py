"""What a tool is asked with and what it answers: who asks, progress, cancelling, values and words."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kernelwright.tools.workspace import Workspace
from kernelwright.values.plain import plain

T = TypeVar("T")
Report = Callable[[str], None]
Work = Callable[[Report, asyncio.Event], Awaitable[T]]

_LONGEST_NAME = 40


@dataclass(frozen=True)
class Asked:
    """`author`: what a Step names as its author; `report` is told each stage."""

    workspace: Workspace
    author: str
    report: Report
    cancel: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True)
class Told(Generic[T]):
    """An answer as values, and in words for clients that show only these."""

    text: str
    data: T


def told(text: str, data: T) -> Told[T]:
    """An answer whose words are safe to show."""
    return Told(plain(text, lines=True), data)


def author(client: str) -> str:
    """The author of what an agent writes: its client, by the name that it has introduced itself with."""
    return f"agent:{' '.join(plain(client).split())[:_LONGEST_NAME] or 'unnamed'}"


async def carried_out(asked: Asked, work: Work[T]) -> T:
    """What `work` comes to. Its stages go to who asked; cancelling the request sets its event.

    It has a task of its own, so that it ends as it does for a cancelled job, and not wherever it happens to wait.
    """
    job = asyncio.ensure_future(work(asked.report, asked.cancel))
    jobs = asked.workspace.jobs
    jobs.add(job)
    job.add_done_callback(jobs.discard)
    job.add_done_callback(lambda job: job.cancelled() or job.exception())  # which nobody may be left to ask for
    try:
        return await asyncio.shield(job)
    finally:
        asked.cancel.set()
