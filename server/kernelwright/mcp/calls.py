"""What a tool and the protocol say to each other: who asks, progress, cancelling, and the answer."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, TextContent

from kernelwright.mcp.workspace import Workspace
from kernelwright.values.plain import plain

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
Asked = Context[Workspace, Any]
Report = Callable[[str], None]
Work = Callable[[Report, asyncio.Event], Awaitable[T]]

_LONGEST_NAME = 40


def workspace_of(asked: Asked) -> Workspace:
    """The workspace that this server works in."""
    return asked.request_context.lifespan_context


def author_of(asked: Asked) -> str:
    """What a Step names as its author: the client by the name that it has introduced itself with."""
    client = asked.session.client_params
    name = " ".join(plain(client.client_info.name).split())[:_LONGEST_NAME] if client is not None else ""
    return f"agent:{name or 'unnamed'}"


def told(text: str, data: "DataclassInstance") -> CallToolResult:
    """An answer as values, and in words for clients that show only these."""
    said = TextContent(type="text", text=plain(text, lines=True))
    return CallToolResult(content=[said], structured_content=dataclasses.asdict(data))


async def carried_out(asked: Asked, work: Work[T]) -> T:
    """What `work` comes to. Its stages go to the client as progress; cancelling the request sets its event.

    It has a task of its own, so that it ends as it does for a cancelled job, and not wherever it happens to wait.
    """
    cancel, stages = asyncio.Event(), asyncio.Queue[str | None]()
    job = asyncio.ensure_future(work(stages.put_nowait, cancel))
    jobs = workspace_of(asked).jobs
    jobs.add(job)
    job.add_done_callback(jobs.discard)
    job.add_done_callback(lambda job: job.cancelled() or job.exception())  # which nobody may be left to ask for
    telling = asyncio.ensure_future(_tell(asked, stages))
    try:
        answer = await asyncio.shield(job)
        stages.put_nowait(None)
        await telling
        return answer
    finally:
        cancel.set()
        telling.cancel()


async def _tell(asked: Asked, stages: asyncio.Queue[str | None]) -> None:
    number = 0
    while (stage := await stages.get()) is not None:
        number += 1
        await asked.report_progress(number, message=plain(stage))
