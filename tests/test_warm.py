"""Workers that are forked from a warm process, as the other tests' are, behave like those that start by themselves."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import warm
from kernelwright.proof.jobs import Probe
from kernelwright.proof.process import WorkerProcess
from kernelwright.proof.station import environment
from kernelwright.proof.worker import processes
from kernelwright.values import Device

PATIENCE = 60.0  # seconds, for the warm process to import torch
ORPHANED = """
import asyncio, os, sys
sys.path[:0] = sys.argv[1:]
import warm
from kernelwright.proof.process import WorkerProcess
from kernelwright.proof.station import environment
warm.install()
async def main():
    worker = await WorkerProcess.start(sys.executable, "run", None, environment("run"))
    print(worker.pid, type(worker._popen).__name__, flush=True)
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""


async def forked() -> WorkerProcess:
    """The first worker that does not start by itself. Fails where there is none in time."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        worker = await WorkerProcess.start(sys.executable, "run", None, environment("run"))
        if isinstance(worker._popen, warm.Forked):
            return worker
        worker.kill()
        await worker.gone()
    raise AssertionError("nobody forks workers")


async def test_it_leads_a_session_under_its_tag_and_ends_as_it_is_ended() -> None:
    worker = await forked()
    assert isinstance((await worker.ask(Probe(), lambda words: None)).answer, Device)
    assert os.getsid(worker.pid) == worker.pid
    assert processes.tag_of(worker.pid) == worker._tag
    assert worker.alive
    await worker.interrupt()
    assert await worker.exit_code(2.0) == -signal.SIGABRT
    assert "Current thread" in worker.log_tail
    worker.kill()
    await worker.gone()


async def test_it_does_not_outlive_its_server() -> None:
    worker = await forked()
    worker.kill()
    await worker.gone()
    roots = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "server")]
    server = subprocess.run([sys.executable, "-P", "-c", ORPHANED, *roots], stdout=subprocess.PIPE, text=True)
    pid, kind = server.stdout.split()
    assert kind == "Forked"
    end = time.monotonic() + 5.0
    while processes.started(int(pid)) and time.monotonic() < end:
        await asyncio.sleep(0.05)
    assert not processes.started(int(pid))
