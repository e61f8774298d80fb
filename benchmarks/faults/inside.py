"""Faults that a kernel's own code makes: the same deed in each of the processes that run it."""

import asyncio
import itertools
from enum import Enum
from random import Random

from benchmarks.faults.house import House
from benchmarks.faults.texts import CLEAN
from lsprotocol import types as lsp


class Role(Enum):
    """Which process runs the text: a candidate's own, the judge (as its baseline), or the worker that captures it."""

    HOST = "host"
    JUDGE = "judge"
    RUN = "run worker"


_numbers = itertools.count(1)


def magic_of(role: Role) -> bytes:
    """How a message starts on the pipe of the process."""
    return b"KWH1" if role is Role.HOST else b"KWF1"


async def ask_for(house: House, role: Role, text: str, random: Random) -> object:
    """What the server says to the request that runs `text` there."""
    number = next(_numbers)
    name, token = f"faulty_{number}.py", f"faulty-{number}"
    editor = house.editor
    command, more = "kernelwright.verify", {}
    if role is not Role.RUN:  # a judge makes calls of the baseline's text alone, a host of the candidate's
        uri = editor.open(name, CLEAN if role is Role.HOST else text)
        await editor.command("kernelwright.resetBaseline", {"uri": uri})
        editor.close(uri)
    else:
        command = random.choice(["kernelwright.optimize", "kernelwright.profile"])
        more = {"strategy": "torch.reassociate"} if command.endswith("optimize") else {}
    uri = editor.open(name, text)
    running = asyncio.create_task(editor.command(command, {"uri": uri, "kernel": "faulty", **more}, token=token))
    if random.random() < 0.9:
        done, _ = await asyncio.wait({running}, timeout=house.patience)
        if not done:
            editor.client.window_work_done_progress_cancel(lsp.WorkDoneProgressCancelParams(token))
    answer = await running
    editor.close(uri)
    return answer
