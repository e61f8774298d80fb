"""`kernelwright prompt`: what a language model is asked for a strategy, and what becomes of an answer."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from kernelwright import files
from kernelwright.cli import console, opening
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE
from kernelwright.cli.optimize import check_strategy, request_for, run
from kernelwright.engine import Engine, Request
from kernelwright.journal import open_in_memory
from kernelwright.models.given import Given
from kernelwright.observer import Nothing, Report
from kernelwright.values import Message, Step


def print_prompt(
    file: Path, kernel_name: str | None, strategy: str, json_out: Path | None, interpreter: str | None
) -> int:
    """Print the prompt, each message below its role."""
    _, request = _request(file, kernel_name, strategy, json_out)
    messages = asyncio.run(_asked(file, request, interpreter))
    for message in messages:
        OUT.print(f"--- {message.role.value} ---\n{message.text}", markup=False)
    console.write_json(json_out, {"kernel": request.kernel, "strategy": strategy, "messages": messages})
    return DONE


def play_reply(
    file: Path,
    kernel_name: str | None,
    strategy: str,
    reply: Path,
    write: bool,
    json_out: Path | None,
    interpreter: str | None,
) -> int:
    """Take the step that an answer describes, as if a model had given it."""
    opened, request = _request(file, kernel_name, strategy, json_out)
    answer = files.read(reply)

    async def steps(engine: Engine, request: Request, report: Report) -> AsyncIterator[Step | Nothing]:
        coder = engine.coder(Given(answer, reply.name))
        yield await engine.optimize(replace(request, coders=(coder,)), report)

    settings = console.settings_for(interpreter, model_rounds=1)
    return asyncio.run(run(opened, request, steps, settings, write, not write, json_out))


def _request(
    file: Path, kernel_name: str | None, strategy: str, json_out: Path | None
) -> tuple[opening.Opened, Request]:
    files.check_result(json_out, file)
    opened = opening.opened(file, kernel_name)
    check_strategy(strategy, opened.kernel)
    return opened, request_for(opened, strategy)


async def _asked(file: Path, request: Request, interpreter: str | None) -> tuple[Message, ...]:
    workspace = console.workspace_of(file)
    engine = Engine(workspace, console.settings_for(interpreter), journal=open_in_memory(workspace))
    try:
        with console.progress(f"Looking at {request.kernel}") as report:
            found = await engine.prompt(request, report)
    finally:
        await engine.close()
    if not isinstance(found, tuple):
        raise console.no_result(found)
    return found
