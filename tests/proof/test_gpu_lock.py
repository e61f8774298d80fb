"""Two processes and one GPU."""

import asyncio
import sys

import pytest

from kernelwright.proof.gpu_lock import WAITING, Busy, gpu_lock

HOLD = """
import asyncio, sys
from kernelwright.proof.gpu_lock import gpu_lock
async def main():
    async with gpu_lock(sys.argv[1], timeout=5):
        print("held", flush=True)
        sys.stdin.readline()
asyncio.run(main())
"""


async def holder(uuid: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", HOLD, uuid, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"held\n"
    return process


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


async def test_the_second_waits_says_so_and_gets_it_when_the_first_is_done() -> None:
    first, told = await holder("GPU-1"), []

    async def second() -> None:
        async with gpu_lock("GPU-1", timeout=10, report=told.append):
            told.append("mine")

    waiting = asyncio.create_task(second())
    await asyncio.sleep(0.3)
    assert told == [WAITING]
    await first.communicate(b"\n")
    await waiting
    assert told == [WAITING, "mine"]


async def test_the_second_gives_up_after_its_time() -> None:
    first = await holder("GPU-1")
    with pytest.raises(Busy):
        async with gpu_lock("GPU-1", timeout=0.2):
            pass
    await first.communicate(b"\n")


async def test_a_killed_holder_holds_nothing_and_another_gpu_is_free() -> None:
    first = await holder("GPU-1")
    async with gpu_lock("GPU-2", timeout=0.2):
        pass
    first.kill()
    await first.wait()
    async with gpu_lock("GPU-1", timeout=0.5):
        pass


async def test_two_clients_of_one_process_exclude_each_other() -> None:
    async with gpu_lock("GPU-1", timeout=0.2):
        with pytest.raises(Busy):
            async with gpu_lock("GPU-1", timeout=0.1):
                pass


async def test_who_asks_again_at_once_waits_behind_who_waited_before() -> None:
    turns, enough = [], asyncio.Event()

    async def one_job_after_the_other() -> None:
        while not enough.is_set():
            async with gpu_lock("GPU-1", timeout=10):
                turns.append("many")
                await asyncio.sleep(0.1)

    async def one_job() -> None:
        async with gpu_lock("GPU-1", timeout=10):
            turns.append("one")
        enough.set()

    many = asyncio.create_task(one_job_after_the_other())
    await asyncio.sleep(0.05)
    await one_job()
    await many
    assert turns[:2] == ["many", "one"]
