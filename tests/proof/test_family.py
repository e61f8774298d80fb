"""A worker is ended with all that it started, wherever that went, and is stopped when it starts too much."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelwright.proof import family
from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Capture, Subject
from kernelwright.values import Case, Failure, Workload, WorkloadSource

# A worker with children in its group, in a group and in a session of their own, and with an orphan that it adopts.
PROGRAM = """
import os, subprocess, sys, time
from kernelwright.proof.worker.sandbox import start
start.hold_back()
sleep = [sys.executable, "-c", "import time; time.sleep(300)"]
children = [subprocess.Popen(sleep), subprocess.Popen(sleep, process_group=0), subprocess.Popen(sleep, start_new_session=True)]
reading, writing = os.pipe()
if os.fork() == 0:
    orphan = subprocess.Popen(sleep, start_new_session=True)
    os.write(writing, str(orphan.pid).encode())
    os._exit(0)
print(*[child.pid for child in children], os.read(reading, 20).decode(), flush=True)
time.sleep(300)
"""


def test_everything_that_a_worker_has_started_ends_with_it() -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], start_new_session=True, stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None
    started = [int(word) for word in worker.stdout.readline().split()]
    assert len(started) == 4
    assert {worker.pid, *started} <= family.family(worker.pid).keys()
    family.kill(worker.pid)
    patience = time.monotonic() + 10
    while any(map(runs, started)) and time.monotonic() < patience:
        time.sleep(0.02)
    assert not any(map(runs, started))
    assert worker.wait(10) == -9


def test_no_family_is_left_of_a_process_that_has_ended() -> None:
    worker = subprocess.Popen(["true"], start_new_session=True)
    worker.wait()
    assert family.family(worker.pid) == {}


async def test_a_crowd_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "MOST", 30)
    text = """if True:
        import subprocess, time
        def f(x):
            children = [subprocess.Popen(["sleep", "300"]) for _ in range(60)]
            time.sleep(60)
            return x
    """
    workload = Workload(WorkloadSource.LINES, "f", (Case(0, 0, "f(randn(4))"),))
    workers = Workers()
    answer = await workers.run(Capture(Subject("/tmp/subject.py", text, workload)), timeout=60)
    await workers.close()
    assert isinstance(answer, Failure), answer
    assert "processes, the limit is 30" in answer.message


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
