"""The server itself: the table of tools over stdin and stdout, and every error as one sentence."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult
from pydantic import ValidationError

from kernelwright import __version__
from kernelwright.engine import Engine
from kernelwright.mcp.offering import hints, offered
from kernelwright.mistakes import BadInput, unexpected
from kernelwright.settings import Settings
from kernelwright.tools.table import TOOLS
from kernelwright.tools.workspace import NoPython, Workspace
from kernelwright.values.plain import plain

INSTRUCTIONS = """\
Kernelwright optimises GPU kernels in CUDA C++, Triton and PyTorch files of this workspace: one change at a time, verified
against the baseline, then measured. You write the changes; these tools judge them.

1. list_kernels, and a workload for what has none: record_workloads from a test, or infer_workloads.
2. list_findings, roofline and list_strategies say what is worth doing; action_prompt says how, for one strategy.
3. Write one small change as search/replace blocks. Change the kernel, what launches it, and new helpers beside them only: not
   the workload lines, not other code. It has to be right for every input that the baseline accepts.
4. keep_step tries it and writes the file when it is right and faster; otherwise it says what to mend. verify and measure
   try a change without writing it. Leave the file itself to keep_step, and take steps back with revert.

Report a speedup only as these tools tell it, with its device and interval. What was not checked is listed: say so.
"""


class Server(MCPServer[Workspace]):
    """An MCPServer whose tools fail with the sentence alone."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Workspace, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            raise ToolError(plain(_sentence(error, name))) from None


def serve(root: Path, settings: Settings) -> None:
    """Answer on stdin and stdout, for the files in `root`, until the client is gone."""
    server(root, settings).run("stdio")


def server(root: Path, settings: Settings) -> Server:
    """The server with all its tools."""

    @contextlib.asynccontextmanager
    async def lifespan(_: MCPServer[Workspace]) -> AsyncIterator[Workspace]:
        workspace = Workspace(root, Engine(root, settings))
        try:
            yield workspace
        finally:
            await workspace.engine.close()
            await asyncio.gather(*workspace.jobs, return_exceptions=True)

    made = Server(
        "kernelwright",
        title="Kernelwright",
        version=__version__,
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        log_level="WARNING",
    )
    for row in TOOLS:
        made.add_tool(offered(row), row.name, row.title, row.description, hints(row))
    return made


def _sentence(error: ToolError, name: str) -> str:
    match error.__cause__:
        case None:
            return f"There is no tool {name!r}; there are {', '.join(row.name for row in TOOLS)}."
        case NoPython() as bad:
            return f"{bad} Here that is the server's option --interpreter."
        case BadInput() as bad:
            return str(bad)
        case ValidationError() as wrong:
            first = wrong.errors()[0]
            return f"The argument {'.'.join(map(str, first['loc']))} of {name} cannot be used: {first['msg']}."
        case mistake:
            return unexpected(mistake)
