"""Faults that come from outside: signals to the server's processes at work, idle or starting, and an editor that goes."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from random import Random

from benchmarks.faults.house import House
from benchmarks.faults.texts import slow
from lsprotocol import types as lsp

AT_WORK = ("run", "judge", "zygote", "host")
IDLE = ("run", "judge", "zygote")
_PATIENCE = 20.0  # seconds until something that must happen has happened


def kill(pid: int) -> None:
    _signal(pid, signal.SIGKILL)


def stop(pid: int) -> None:
    _signal(pid, signal.SIGSTOP)


async def at_work(house: House, random: Random, *, what: str, deed: Callable[[int], None]) -> object:
    """`deed` to a process in the middle of its job."""
    running, uri = await _busy(house, what)
    await asyncio.sleep(random.uniform(0, 0.05))
    deed(house.place(what)[0].pid)
    answer = await running
    house.editor.close(uri)
    return answer


async def at_random(house: House, random: Random, *, what: str) -> object:
    """SIGKILL at any moment of a verification, from its request to after its answer."""
    command = "kernelwright.profile" if what == "run" else "kernelwright.verify"
    running = asyncio.create_task(house.editor.command(command, {"uri": house.good}))
    end = asyncio.get_running_loop().time() + random.uniform(0, 0.35)
    while asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.002)
    for process in house.place(what)[:1]:
        kill(process.pid)
    return await running


async def idle(house: House, random: Random, *, what: str, deed: Callable[[int], None]) -> None:
    for process in house.place(what)[:1]:
        deed(process.pid)


async def kill_spare(house: House, random: Random) -> None:
    """Of two run workers the younger one; waits until there is one."""
    if await _until(lambda: len(house.workers("run")) == 2):
        await asyncio.sleep(random.uniform(0, 2.0))
        for process in house.workers("run")[1:]:
            kill(process.pid)


async def kill_all(house: House, random: Random) -> None:
    for role in ("run", "judge", "compile"):
        for process in house.workers(role):
            kill(process.pid)


async def kill_while_starting(house: House, random: Random) -> object:
    """The judge, and the one that is started in its place."""
    old = {process.pid for process in house.workers("judge")}
    for pid in old:
        kill(pid)
    running = asyncio.create_task(house.editor.command("kernelwright.verify", {"uri": house.good}))
    await _until(lambda: running.done() or any(p.pid not in old for p in house.workers("judge")))
    await asyncio.sleep(random.uniform(0, 1.2))
    for process in house.workers("judge"):
        if process.pid not in old:
            kill(process.pid)
    return await running


async def kill_server(house: House, random: Random) -> None:
    house.server.kill()
    await _another(house)


async def kill_server_at_work(house: House, random: Random) -> None:
    running, _ = await _busy(house, random.choice(["host", "run"]))
    house.server.kill()
    await _another(house)
    await _ended(running)


async def kill_server_while_it_writes(house: House, random: Random) -> None:
    """What it has acknowledged must be there; the one that was under way may be."""

    async def write() -> None:
        while True:
            await house.keep(f"kept_{random.randrange(50)}.py")

    running = asyncio.create_task(write())
    await asyncio.sleep(random.uniform(0.01, 0.2))
    before = dict(house.kept)
    house.server.kill()
    await _another(house)
    await _ended(running)
    _settle(house, before)


async def editor_gone(house: House, random: Random) -> None:
    """The editor's end of the pipes is closed without a word, perhaps while a job runs."""
    running = None
    if random.random() < 0.5:
        running, _ = await _busy(house, random.choice(["host", "run"]))
    house.editor.client._server.stdin.close()
    if not await _until(lambda: not house.server.is_running() or house.server.status() == "zombie", 5.0):
        house.server.kill()
        raise AssertionError("the server lives on without its editor")
    await _another(house)
    if running is not None:
        await _ended(running)


async def stop_and_cancel(house: House, random: Random) -> object:
    """A process that is stopped, and a person who does not wait for its time to run out."""
    what = random.choice(AT_WORK)
    running, uri = await _busy(house, what, token="stopped")
    for process in house.place(what)[:1]:
        stop(process.pid)
    await asyncio.sleep(random.uniform(0, 0.2))
    house.editor.client.window_work_done_progress_cancel(lsp.WorkDoneProgressCancelParams("stopped"))
    answer = await running
    house.editor.close(uri)
    return answer


async def _busy(house: House, what: str, token: str | None = None) -> tuple[asyncio.Task[object], str]:
    """A request under way in a process of this kind, and its document."""
    mark = house.workspace / f"started-{house.round}"
    with contextlib.suppress(FileNotFoundError):
        mark.unlink()
    command = "kernelwright.profile" if what == "run" else "kernelwright.verify"
    uri = house.editor.open(f"slow_{house.round}.py", slow(str(mark)))
    if what in ("host", "zygote"):  # the candidate is what is slow
        house.editor.close(uri)
        uri = house.editor.open(f"slow_{house.round}.py", slow(str(mark)).replace("    deed()\n", ""))
        await house.editor.command("kernelwright.resetBaseline", {"uri": uri, "kernel": "faulty"})
        house.editor.close(uri)
        mark = house.tmp / f"started-{house.round}"
        uri = house.editor.open(f"slow_{house.round}.py", _slow_host())
    ask = house.editor.command(command, {"uri": uri, "kernel": "faulty"}, token=token)
    running = asyncio.create_task(ask)
    if what in ("host", "zygote"):
        await _until(lambda: running.done() or any(_sleeps(p.pid) for p in house.hosts()))
    else:
        await _until(lambda: running.done() or mark.exists())
    return running, uri


def _slow_host() -> str:
    """A candidate may write nowhere that we know of: it is seen by the name that it gives itself."""
    return slow("/dev/null").replace(
        "time.sleep(60.0)", "ctypes.CDLL(None).prctl(15, b'kw-slow', 0, 0, 0); time.sleep(60)"
    )


def _sleeps(pid: int) -> bool:
    return _read(f"/proc/{pid}/comm").strip() == "kw-slow"


async def _another(house: House) -> None:
    """What an editor does when its server has died: start one, open what is open."""
    with contextlib.suppress(Exception):
        house.server.wait(5.0)
    await house.discard()
    await house.start()
    house.census.server = house.server.pid


async def _ended(running: asyncio.Task[object]) -> None:
    running.cancel()
    with contextlib.suppress(BaseException):
        await asyncio.wait_for(running, 2.0)


def _settle(house: House, before: dict[str, str]) -> None:
    """An entry that was being written when the server died may be there or not, and is whole if it is."""
    names = {f"kept_{number}.py" for number in range(50)}
    found = house.on_disk(names)
    for name, text in found.items() if isinstance(found, dict) else ():
        if text is not None and house.kept.get(name) == before.get(name) and f"in round {house.round}\n" in text:
            house.kept[name] = text


async def _until(condition: Callable[[], object], seconds: float = _PATIENCE) -> bool:
    end = asyncio.get_running_loop().time() + seconds
    while not condition():
        if asyncio.get_running_loop().time() > end:
            return False
        await asyncio.sleep(0.05)
    return True


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""
