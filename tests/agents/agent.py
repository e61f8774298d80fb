"""An agent as the SDK's own client plays it, against the real `kernelwright mcp` in a process of its own."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, Implementation, TextContent

import warm
from kernelwright.journal.opening import FOLDER


@dataclass
class Agent:
    """`stages`: what was told of the progress of all calls."""

    client: Client
    folder: Path
    stages: list[str] = field(default_factory=list)

    async def ask(self, tool: str, **arguments: Any) -> CallToolResult:
        async def progress(number: float, total: float | None, said: str | None) -> None:
            self.stages.append(said or "")

        answer = await self.client.call_tool(tool, arguments, progress_callback=progress)
        assert isinstance(answer, CallToolResult)
        return answer

    async def data(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers with, where it has an answer."""
        answer = await self.ask(tool, **arguments)
        assert not answer.is_error, said(answer)
        assert answer.structured_content is not None
        return answer.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The one sentence with which a tool has no answer."""
        answer = await self.ask(tool, **arguments)
        assert answer.is_error, said(answer)
        assert answer.structured_content is None
        sentence = said(answer)
        assert "Traceback" not in sentence
        assert "\n" not in sentence
        return sentence

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    @property
    def journal_begun(self) -> bool:
        return (self.folder / FOLDER).exists()


def said(answer: CallToolResult) -> str:
    return "\n".join(block.text for block in answer.content if isinstance(block, TextContent))


@contextlib.asynccontextmanager
async def at_work(folder: Path, *options: str, cold: bool = False) -> AsyncIterator[Agent]:
    """An agent whose server works in `folder`. Fails where the server writes anything but the protocol to stdout.

    The workers of a `cold` one are its children, and start by themselves (see tests/warm.py).
    """
    command = StdioServerParameters(
        command=sys.executable,
        args=[*(("-m", "kernelwright") if cold else warm.module("kernelwright")), "mcp", *options],
        cwd=folder,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
    strange: list[Exception] = []

    async def look(message: object) -> None:
        if isinstance(message, Exception):
            strange.append(message)

    me = Implementation(name="claude-code", version="2.0")
    async with Client(stdio_client(command), client_info=me, message_handler=look) as client:
        yield Agent(client, folder)
    assert strange == []


async def until(true: Any, seconds: float = 30.0) -> None:
    """Wait until `true()` is. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.02)
