"""Temporary folders of workers end with them, and what a killed server has left is removed by the next one."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kernelwright.proof import family, process, scratch
from kernelwright.proof.jobs import Probe
from kernelwright.proof.process import StartFailed, WorkerProcess
from kernelwright.proof.station import Station, environment
from kernelwright.proof.worker.processes import TAG, trackers_among
from kernelwright.values import Device, FailureKind

SERVER = """
import fcntl, os, sys
from kernelwright.proof import scratch
made = scratch.make("run")
(made / "file").write_text("left")
print(made, scratch.tag(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """An interpreter without torch: its workers start in a moment."""
    file = tmp_path / "python"
    file.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    file.chmod(0o755)
    return str(file)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go in this test."""
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(made))
    return made


@pytest.fixture
async def station(bare: str) -> AsyncIterator[Station]:
    station = Station(bare, "run", None)
    yield station
    await station.close()


async def idle(station: Station) -> WorkerProcess:
    """A worker that has done a job and waits for another."""
    worker = await station.take(lambda words: None)
    assert isinstance((await worker.ask(Probe(), lambda words: None)).answer, Device)
    await station.give_back(worker, healthy=True)
    return worker


def below(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


async def test_a_worker_has_a_folder_that_ends_with_it(bare: str, folder: Path) -> None:
    worker = await WorkerProcess.start(bare, "run", None, environment("run"))
    (made,) = (path for path in folder.rglob("run"))
    assert f"TMPDIR={made}".encode() in Path(f"/proc/{worker.pid}/environ").read_bytes().split(b"\0")
    (made / "left").write_text("by a text that was killed")
    worker.kill()
    await worker.gone()
    assert below(folder) == []


async def test_a_full_disk_is_told_as_what_it_is(bare: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/dev/full")
    with pytest.raises(StartFailed) as failed:
        await WorkerProcess.start(bare, "run", None, environment("run"))
    assert failed.value.failure.kind is FailureKind.DISK_FULL
    assert not failed.value.failure.about_kernel


async def test_what_a_killed_server_left_is_swept_and_what_a_living_one_uses_is_not(folder: Path) -> None:
    variables = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    start = lambda: subprocess.Popen(
        [sys.executable, "-c", SERVER], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    servers = [start(), start()]
    made, tags = zip(*(server.stdout.readline().split() for server in servers), strict=True)
    escaped = [subprocess.Popen(["sleep", "300"], env={**os.environ, TAG: tag}, start_new_session=True) for tag in tags]
    servers[0].kill()
    servers[0].wait()
    scratch.sweep()
    assert escaped[0].wait(10) == -9
    assert [Path(place).exists() for place in made] == [False, True]
    assert escaped[1].poll() is None
    escaped[1].kill()
    escaped[1].wait()
    servers[1].communicate()
    assert below(folder) == [], "one that ends by itself removes its own"


@pytest.mark.parametrize("number", [9, 19], ids=["killed", "stopped"])
async def test_a_worker_that_was_lost_while_it_waited_costs_the_next_job_nothing(
    number: int, station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_PONG_LIMIT", 0.2)
    lost = await idle(station)
    os.kill(lost.pid, number)
    assert (await idle(station)).pid != lost.pid


async def test_a_worker_whose_folder_is_gone_is_not_used_again(station: Station, folder: Path) -> None:
    first = await idle(station)
    (made,) = (path for path in folder.rglob("run"))
    made.rmdir()
    assert (await idle(station)).pid != first.pid


async def test_an_answer_to_an_earlier_question_is_passed_over_and_ends_the_worker(bare: str) -> None:
    worker = await WorkerProcess.start(bare, "run", None, environment("run"))
    reply = await worker.ask(Probe(), lambda words: None)
    worker._reader.feed_data(process.frames.pack(reply))  # as if it had come twice
    assert isinstance((await worker.ask(Probe(), lambda words: None)).answer, Device)
    assert not worker.alive
    worker.kill()
    await worker.gone()


async def test_a_message_that_does_not_end_is_given_up(bare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_BODY_LIMIT", 0.2)
    worker = await WorkerProcess.start(bare, "run", None, environment("run"))
    worker.pause()
    worker._reader.feed_data(process.frames.HEADER.pack(process.frames.MAGIC, 1000) + b"{")
    with pytest.raises(process.Broken, match="does not end"):
        await worker.ask(Probe(), lambda words: None)
    worker.kill()
    await worker.gone()


ESCAPING = """
import os, subprocess, sys, time
from multiprocessing import shared_memory
kept = shared_memory.SharedMemory(create=True, size=1 << 12)
if os.fork() == 0:
    os.setsid()
    orphan = subprocess.Popen(["sleep", "300"])
    print(orphan.pid, kept.name, flush=True)
    os._exit(0)
time.sleep(300)
"""


async def test_an_orphan_is_found_by_its_tag_and_shared_memory_is_removed_by_its_tracker() -> None:
    tag = scratch.tag()  # one that is made up would be swept by any worker that starts meanwhile
    leader = subprocess.Popen(
        [sys.executable, "-c", ESCAPING],
        env={**os.environ, TAG: tag},
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert leader.stdout is not None
    pid, name = leader.stdout.readline().split()
    assert trackers_among(family.family(leader.pid, tag))
    leader.kill()
    leader.wait()
    assert int(pid) in family.family(leader.pid, tag)
    family.kill(leader.pid, tag)
    patience = time.monotonic() + 10
    while family.family(leader.pid, tag) and time.monotonic() < patience:
        await asyncio.sleep(0.01)
    assert not family.family(leader.pid, tag)
    assert not Path(f"/dev/shm/{name}").exists()
