"""What a job leaves in its process is put back, or makes the process one that is not used again."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from kernelwright.proof.worker import aftermath, flags, processes

SHARED = """
from multiprocessing import shared_memory
from kernelwright.proof.worker import aftermath
before = aftermath.note()
kept = shared_memory.SharedMemory(create=True, size=64)
print(kept.name)
print(aftermath.settle(before, end_children=True))
"""


@pytest.fixture
def before() -> Iterator[aftermath.Before]:
    """How this process is before the test; as it is again afterwards."""
    noted = aftermath.note()
    yield noted
    aftermath.settle(noted, end_children=False)


def check(deed: Callable[[], object], expected: str, before: aftermath.Before) -> None:
    deed()
    assert expected in aftermath.settle(before, end_children=False)


def test_settings_are_put_back(before: aftermath.Before, tmp_path: Path) -> None:
    os.environ["LEFT"] = "by a kernel"
    os.environ.pop("PATH")
    os.chdir(tmp_path)
    sys.setrecursionlimit(900)
    torch.set_default_dtype(torch.float64)
    os.umask(0o007)
    torch.set_printoptions(precision=9)
    warnings.filterwarnings("ignore")
    assert aftermath.settle(before, end_children=False) == ""
    assert flags.read() == before.settings
    assert "LEFT" not in os.environ
    assert torch.get_default_dtype() is torch.float32


def test_what_cannot_be_put_back(before: aftermath.Before) -> None:
    old = signal.getsignal(signal.SIGUSR2)
    check(lambda: signal.signal(signal.SIGUSR2, lambda *_: None), "the handler of SIGUSR2 is", before)
    signal.signal(signal.SIGUSR2, old)


@pytest.mark.parametrize(("owner", "name"), [(torch, "relu"), (torch.Tensor, "clamp"), (json, "dumps")])
def test_a_replaced_function(
    owner: object, name: str, before: aftermath.Before, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(lambda: monkeypatch.setattr(owner, name, lambda *a: None), f"{name}", before)
    monkeypatch.undo()
    assert aftermath.settle(before, end_children=False) == ""


def test_a_thread(before: aftermath.Before) -> None:
    end = threading.Event()

    def wait() -> None:
        end.wait()

    thread = threading.Thread(target=wait, name="left", daemon=True)
    check(thread.start, "its thread left still runs", before)
    end.set()
    thread.join()


def test_a_process(before: aftermath.Before) -> None:
    started: list[subprocess.Popen] = []
    check(lambda: started.append(subprocess.Popen(["sleep", "300"])), "1 of its processes still run", before)
    started[0].kill()
    started[0].wait()


def test_a_process_of_a_judge_is_ended(before: aftermath.Before) -> None:
    child = subprocess.Popen(["sleep", "300"], start_new_session=True)
    assert aftermath.settle(before, end_children=True) == ""
    assert child.pid not in processes.children(os.getpid())


def test_shared_memory_of_a_judge_is_left_to_its_tracker(tmp_path: Path) -> None:
    """Killed, the tracker would leave it for good; so the judge is not used again, and the tracker outlives it."""
    program = tmp_path / "judge.py"
    program.write_text(SHARED)
    ended = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    name, left = ended.stdout.splitlines()
    assert left == "1 of its processes still run"
    deadline = time.monotonic() + 10.0
    while Path("/dev/shm", name).exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(("blank", "found"), [(0, {7}), (3, {7}), (10_000, set())], ids=["there", "loading", "never"])
def test_a_tracker_whose_program_is_being_loaded_is_waited_for(
    blank: int, found: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([b""] * blank + [b"python\0-c\0from multiprocessing.resource_tracker import main"] * 2)
    monkeypatch.setattr(processes, "_command", lambda pid: next(answers) if pid == 7 else None)
    assert processes.trackers_among({6, 7}) == found


@pytest.mark.parametrize(("place", "count", "words"), [(os.devnull, 100, "100 descriptors"), (__file__, 9, "9 files")])
def test_what_is_left_open(place: str, count: int, words: str, before: aftermath.Before) -> None:
    kept: list[int] = []
    check(lambda: kept.extend(os.open(place, os.O_RDONLY) for _ in range(count)), f"{words} open", before)
    for descriptor in kept:
        os.close(descriptor)


def test_what_runs_in_every_worker_is_nothing_that_is_left(before: aftermath.Before) -> None:
    torch.relu(torch.randn(64, 64) @ torch.randn(64, 64))
    torch.fx.symbolic_trace(torch.nn.Linear(2, 2))
    assert aftermath.settle(before, end_children=False) == ""


def test_a_temporary_folder_that_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next job would find the disk full. A few files are not worth a new process."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "old").write_bytes(bytes(20 << 20))
    before = aftermath.note()
    (tmp_path / "small").write_bytes(bytes(1 << 20))
    assert aftermath.settle(before, end_children=False) == ""
    (tmp_path / "folder").mkdir()
    check(lambda: (tmp_path / "folder" / "filler").write_bytes(bytes(30 << 20)), "MiB of temporary files", before)
