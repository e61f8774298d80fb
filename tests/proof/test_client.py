"""Whatever user code does to its process costs one typed Failure, and the next job is answered."""

import asyncio
import dataclasses
import os
import signal
import sys
import textwrap
import time
from pathlib import Path

import pytest

from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Answer, Capture, Subject, Trial, TrialResult
from kernelwright.values import Case, Device, Failure, FailureKind, Graph, Workload, WorkloadSource

own_children = pytest.mark.usefixtures("workers_of_their_own")

GOOD = "def f(x):\n    return x + 1\n"


def job(text: str, path: str = "/tmp/subject.py") -> Capture:
    workload = Workload(WorkloadSource.LINES, "f", (Case(0, 0, "f(randn(4))"),))
    return Capture(Subject(path, textwrap.dedent(text), workload))


TRIAL = Trial("/tmp/subject.py", GOOD, GOOD, GOOD, Workload(WorkloadSource.LINES, "f", (Case(0, 0, "f(randn(4))"),)))


def failure(answer: Answer, kind: FailureKind, words: str) -> Failure:
    assert isinstance(answer, Failure), answer
    assert answer.kind is kind, answer
    assert words in answer.message
    return answer


def worker_pids(workers: Workers) -> list[int]:
    """The living children of this process that run the worker; a zygote of other tests in this process is none."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    commands = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children}
    return [pid for pid, command in commands.items() if b"bootstrap.py" in command and b"zygote" not in command]


async def test_a_hang_is_killed_with_what_it_started_and_its_line_is_named(tmp_path: Path) -> None:
    mark = tmp_path / "child"
    text = f"""\
        def f(x):
            import subprocess
            child = subprocess.Popen(["sleep", "300"])
            open({str(mark)!r}, "w").write(str(child.pid))
            while True:
                pass
    """
    workers = Workers()
    await workers.run(job(GOOD), timeout=90)  # what a first job imports takes time that the limit leaves to the text
    started = time.monotonic()
    answer = await workers.run(job(text), timeout=4.0)
    took = time.monotonic() - started
    await workers.close()
    hang = failure(answer, FailureKind.TIMED_OUT, "within 4 s")
    assert hang.line in (4, 5)
    assert took < 10
    child, patience = int(mark.read_text()), time.monotonic() + 10
    while running(child) and time.monotonic() < patience:  # a killed process takes a moment to end
        await asyncio.sleep(0.05)
    assert not running(child)


async def test_what_an_import_changes_counts_in_every_trial(tmp_path: Path) -> None:
    """A package of another folder is imported once in a process, and afresh in each process of a candidate."""
    package = tmp_path / "project"
    (package / "kernels").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "import random, torch\nrandom.random()\ntorch.set_default_dtype(torch.float64)\n"
    )
    (package / "kernels" / "__init__.py").write_text("")
    text = "import torch\nfrom project import kernels\ndef f(x):\n    return x + torch.ones(4)\n"
    trial = dataclasses.replace(
        TRIAL, path=str(package / "kernels" / "one.py"), baseline=text, previous=text, candidate=text
    )
    workers = Workers()
    answers = [await workers.run(trial, timeout=120) for _ in range(2)]
    await workers.close()
    for answer in answers:
        assert isinstance(answer, TrialResult), answer
        assert answer.verdict.passed, answer.verdict.reason


async def test_megabytes_of_output_cost_nothing_and_do_not_reach_the_server(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = """\
        import sys
        def f(x):
            for _ in range(200):
                print("x" * 100_000)
            sys.stderr.write("y" * 5_000_000)
            return x + 1
    """
    workers = Workers(cwd=tmp_path)
    answer = await workers.run(job(text), timeout=20)
    await workers.close()
    assert isinstance(answer, Graph)
    assert "xxx" not in "".join(capfd.readouterr())


async def test_too_much_host_memory_is_stopped_by_the_watch() -> None:
    text = """\
        def f(x):
            import time
            held = []
            while True:
                held.append(bytearray(64 << 20))
                time.sleep(0.02)
    """
    workers = Workers(memory_limit=1 << 30)
    answer = await workers.run(job(text), timeout=30)
    await workers.close()
    failure(answer, FailureKind.OUT_OF_MEMORY, "the limit is 1.0 GiB")


@own_children
async def test_cancel_answers_within_a_second_and_the_spare_takes_over() -> None:
    workers, told = Workers(), []
    await workers.run(job(GOOD), timeout=20)
    while len(pids := worker_pids(workers)) < 2 or any(threads(pid) < 2 for pid in pids):
        await asyncio.sleep(0.1)  # the spare starts
    cancel = asyncio.Event()
    asyncio.get_running_loop().call_later(0.3, cancel.set)
    started = time.monotonic()
    answer = await workers.run(job("def f(x):\n    while True: pass\n"), timeout=30, cancel=cancel)
    cancelled = time.monotonic() - started
    again = await workers.run(job(GOOD), timeout=20, report=told.append)
    await workers.close()
    failure(answer, FailureKind.CANCELLED, "Cancelled")
    assert cancelled < 1.3
    assert isinstance(again, Graph)
    assert "starting the worker" not in told


@own_children
async def test_no_spare_starts_beside_a_trial() -> None:
    """Its imports would take a core from what is timed."""
    slow = "import time\n\n\ndef f(x):\n    time.sleep(60)\n    return x + 1\n"
    workload = Workload(WorkloadSource.LINES, "f", (Case(0, 0, "f(randn(4))"),))
    workers, cancel = Workers(), asyncio.Event()
    await workers.device()  # whose worker would get its spare a second later
    trial = asyncio.create_task(
        workers.run(Trial("/tmp/subject.py", slow, slow, slow, workload), timeout=90, cancel=cancel)
    )
    while len(worker_pids(workers)) < 2:
        await asyncio.sleep(0.05)  # until the judge is there
    await asyncio.sleep(3.0)
    beside = len(worker_pids(workers))
    cancel.set()
    await trial
    while len(worker_pids(workers)) < 2:
        await asyncio.sleep(0.05)  # the judge is gone, the spare comes
    await workers.close()
    assert beside == 2


@own_children
async def test_for_a_first_verdict_one_process_is_started() -> None:
    """Two that import torch beside each other take longer."""
    workers = Workers()
    workers.expect_trial()
    device = await workers.device()
    started = worker_pids(workers)
    answer = await workers.run(TRIAL, timeout=90)
    judged = worker_pids(workers)
    await workers.close()
    assert isinstance(device, Device)
    assert isinstance(answer, TrialResult)
    assert answer.verdict.passed
    assert started == judged
    assert len(judged) == 1


@own_children
async def test_cancelling_the_calling_task_leaves_nothing_behind() -> None:
    workers = Workers()
    await workers.device()
    task = asyncio.create_task(workers.run(job("def f(x):\n    while True: pass\n"), timeout=30))
    await asyncio.sleep(0.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    again = await workers.run(job(GOOD), timeout=20)
    await workers.close()
    assert isinstance(again, Graph)
    assert worker_pids(workers) == []


@own_children
async def test_a_worker_that_somebody_kills_in_mid_run() -> None:
    workers = Workers()
    await workers.device()
    (pid,) = worker_pids(workers)
    asyncio.get_running_loop().call_later(0.3, os.kill, pid, signal.SIGKILL)
    answer = await workers.run(job("def f(x):\n    while True: pass\n"), timeout=30)
    again = await workers.run(job(GOOD), timeout=20)
    await workers.close()
    failure(answer, FailureKind.CRASHED, "SIGKILL")
    assert isinstance(again, Graph)


@own_children
async def test_user_code_sees_its_interpreter_and_nothing_of_the_server() -> None:
    text = """\
        import sys, os
        assert "pygls" not in sys.modules
        assert "kernelwright.engine" not in sys.modules
        assert sys.stdin.read() == ""
        assert all(not os.get_inheritable(int(fd)) for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and alive(fd))
        def f(x):
            return x + 1
    """.replace("alive(fd)", "os.path.exists('/proc/self/fd/' + fd)")
    workers = Workers()
    answer = await workers.run(job(text), timeout=20)
    await workers.close()
    assert isinstance(answer, Graph), answer


@own_children
@pytest.mark.parametrize(
    ("interpreter", "words"),
    [
        ("/nowhere/python", "does not exist"),
        ("/bin/true", "did not start as a Python (it ended with exit code 0)"),
        ("/bin/cat", "did not start as a Python"),
        ("/tmp", "does not exist"),
    ],
)
async def test_an_interpreter_that_is_none(interpreter: str, words: str) -> None:
    workers = Workers(interpreter)
    device = await workers.device()
    answer = await workers.run(job(GOOD), timeout=5)
    await workers.close()
    assert isinstance(device, Failure)
    assert device == answer
    failure(answer, FailureKind.NO_INTERPRETER, words)
    assert "kernelwright.interpreter" in device.message


@own_children
@pytest.mark.parametrize(("mode", "words"), [(0o644, "is not an executable file"), (0o755, "cannot be run")])
async def test_an_interpreter_that_is_a_text_file(mode: int, words: str, tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("not a program")
    file.chmod(mode)
    workers = Workers(str(file))
    device = await workers.device()
    await workers.close()
    failure(device, FailureKind.NO_INTERPRETER, words)


@own_children
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_an_interpreter_that_somebody_kills_is_not_called_a_bad_one(number: int, tmp_path: Path) -> None:
    file = tmp_path / "python"
    file.write_text(f"#!/bin/sh\nkill -{number:d} $$\n")
    file.chmod(0o755)
    workers = Workers(str(file))
    device = await workers.device()
    await workers.close()
    failure(device, FailureKind.CRASHED, f"was killed while it started (it ended with signal {number:d}): free memory")


@own_children
async def test_an_interpreter_that_is_too_old(tmp_path: Path) -> None:
    old = tmp_path / "python"
    program = "import sys, runpy; sys.version_info = (3, 9, 1); sys.version = '3.9.1 (old)'; sys.argv = sys.argv[1:]"
    body = f"{program}; runpy.run_path(sys.argv[0], run_name='__main__')"
    old.write_text(f'#!/bin/sh\nshift\nexec {sys.executable} -c "{body}" "$@"\n')
    old.chmod(0o755)
    workers = Workers(str(old))
    device = await workers.device()
    await workers.close()
    assert isinstance(device, Failure)
    failure(device, FailureKind.NO_INTERPRETER, "is Python 3.9.1, which is too old")


@own_children
@pytest.mark.parametrize("asked", [job(GOOD), TRIAL], ids=["capture", "trial"])
async def test_an_interpreter_without_torch(asked: Capture | Trial, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # no site-packages
    bare.chmod(0o755)
    workers = Workers(str(bare))
    if isinstance(asked, Trial):
        workers.expect_trial()
    device = await workers.device()
    answer = await workers.run(asked, timeout=5)
    await workers.close()
    assert isinstance(device, Device), device
    assert device.torch is None
    failure(answer, FailureKind.MISSING_PACKAGE, "torch is not installed in")


@own_children
@pytest.mark.gpu
async def test_a_broken_cuda_context_costs_one_failure() -> None:
    text = """\
        import torch
        def f(x):
            nowhere = torch.full((1,), 99, device=x.device)
            y = x[nowhere]  # a device-side assertion
            torch.cuda.synchronize()
            return y
    """
    workers = Workers()
    answer = await workers.run(job(text), timeout=60)
    again = await workers.run(job(GOOD), timeout=60)
    await workers.close()
    assert isinstance(answer, Failure), answer
    assert isinstance(again, Graph), again


@own_children
async def test_a_closed_client_answers_too() -> None:
    workers = Workers()
    await workers.close()
    failure(await workers.run(job(GOOD), timeout=5), FailureKind.CANCELLED, "closed")


@own_children
async def test_workers_die_with_the_server(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text(
        "import asyncio, os, sys\n"
        "from kernelwright.proof.client import Workers\n"
        "async def main():\n"
        "    await Workers().device()\n"
        "    print(open(f'/proc/{os.getpid()}/task/{os.getpid()}/children').read(), flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    server = await asyncio.create_subprocess_exec(sys.executable, str(program), stdout=asyncio.subprocess.PIPE)
    output, _ = await server.communicate()
    pids = output.split()
    assert pids
    for _ in range(40):
        if not any(Path(f"/proc/{int(pid)}/cmdline").exists() and running(int(pid)) for pid in pids):
            return
        await asyncio.sleep(0.05)
    raise AssertionError("a worker outlived its server")


def threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
