"""A tool as the SDK takes it: a function with a signature of the SDK's kinds, which tells progress and answers in its form."""

import asyncio
import dataclasses
import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, get_args, get_type_hints

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from kernelwright.tools.asking import Asked, author
from kernelwright.tools.schema import parameters
from kernelwright.tools.table import Row
from kernelwright.tools.workspace import Workspace
from kernelwright.values.plain import plain

Request = Context[Workspace, Any]


def hints(row: Row) -> ToolAnnotations:
    """What a client may let run without asking."""
    return ToolAnnotations(
        title=row.title, read_only_hint=not row.writes, destructive_hint=row.writes, open_world_hint=False
    )


def offered(row: Row) -> Callable[..., Awaitable[CallToolResult]]:
    """The function of a row for `MCPServer.add_tool`."""

    async def run(request: Request, **given: object) -> CallToolResult:
        stages = asyncio.Queue[str | None]()
        telling = asyncio.ensure_future(_tell(request, stages))
        workspace = request.request_context.lifespan_context
        try:
            answer = await row.run(asked=Asked(workspace, _author(request), stages.put_nowait), **given)
            stages.put_nowait(None)
            await telling
        finally:
            telling.cancel()
        said = TextContent(type="text", text=answer.text)
        return CallToolResult(content=[said], structured_content=dataclasses.asdict(answer.data))

    defaults = {name: one.default for name, one in inspect.signature(row.run).parameters.items()}
    (data,) = get_args(get_type_hints(row.run)["return"])
    given = [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[one.annotation, Field(description=one.words)],
            default=defaults[one.name],
        )
        for one in parameters(row.run)
    ]
    request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)
    run.__name__ = row.name
    run.__annotations__ = {"request": Request}
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [request, *given], return_annotation=Annotated[CallToolResult, data]
    )
    return run


def _author(request: Request) -> str:
    client = request.session.client_params
    return author(client.client_info.name if client is not None else "")


async def _tell(request: Request, stages: asyncio.Queue[str | None]) -> None:
    number = 0
    while (stage := await stages.get()) is not None:
        number += 1
        await request.report_progress(number, message=plain(stage))
