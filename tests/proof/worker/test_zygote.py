"""What a zygote finds out for Triton, and when: no host waits for what its text does not need."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernelwright.proof.worker import triton_ahead
from kernelwright.proof.worker.hosts import zygote as module
from kernelwright.proof.worker.hosts.zygote import Birth, Zygote


class Steps:
    """Three steps in the place of Triton's, each of which waits until it is allowed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting, self._allowing = os.pipe()

    def make(self, number: int) -> Callable[[], None]:
        def done() -> None:
            os.read(self._waiting, 1)
            (self._folder / str(number)).touch()

        return done

    def allow(self, count: int) -> None:
        os.write(self._allowing, b"." * count)

    @property
    def done(self) -> int:
        return len(list(self._folder.iterdir()))


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Steps:
    made = Steps(tmp_path)
    monkeypatch.setattr(triton_ahead, "STEPS", tuple(made.make(number) for number in range(3)))
    monkeypatch.setattr(triton_ahead, "get_ready", lambda: None)  # what this process would find out for itself
    return made


@pytest.fixture
def zygote(steps: Steps) -> Iterator[Zygote]:
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            module.serve(theirs, parent)
        finally:
            os._exit(0)
    theirs.close()
    made = Zygote(ours, pid)
    yield made
    made.close()


def _end(birth: Birth) -> None:
    birth.channel.close()
    os.close(birth.prints)


def test_a_host_that_needs_none_of_it_does_not_wait(zygote: Zygote, steps: Steps) -> None:
    _end(zygote.spawn())
    assert steps.done == 0


def test_a_host_for_triton_comes_once_it_is_known(zygote: Zygote, steps: Steps) -> None:
    steps.allow(3)
    _end(zygote.spawn(triton=True))
    assert steps.done == 3
    _end(zygote.spawn(triton=True))  # would wait for ever if anything were done again


def test_what_is_done_ahead_gives_way_to_requests(zygote: Zygote, steps: Steps) -> None:
    zygote.think_ahead()
    steps.allow(1)
    _end(zygote.spawn())
    assert steps.done <= 1
    steps.allow(2)
    until = time.monotonic() + 20
    while steps.done < 3 and time.monotonic() < until:
        time.sleep(0.01)
    assert steps.done == 3
    zygote.think_ahead()
    assert zygote.answers()


def test_one_that_is_stopped_does_not_answer(zygote: Zygote) -> None:
    os.kill(zygote.pid, signal.SIGSTOP)
    assert not zygote.answers()
