"""What a zygote finds out for Triton, and when: no host waits for what its text does not need."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.proof.worker import triton_ahead
from kernelwright.proof.worker.hosts import zygote as module
from kernelwright.proof.worker.hosts.zygote import Birth, Zygote


class Deeds:
    """What is found out for Triton here: a file is made in the folder, each time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def do(self) -> None:
        (self._folder / str(os.getpid())).touch()

    @property
    def of(self) -> set[int]:
        """The processes that did it."""
        return {int(file.name) for file in self._folder.iterdir()}


@pytest.fixture
def deeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Deeds:
    made = Deeds(tmp_path)
    monkeypatch.setattr(triton_ahead, "get_ready", made.do)
    return made


@pytest.fixture
def zygote(deeds: Deeds) -> Iterator[Zygote]:
    module._import_for_hosts()  # as a judge does: else each zygote of this file would, before it answers
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
    assert birth.pid
    birth.channel.close()
    os.close(birth.prints)


def test_a_host_that_needs_none_of_it_does_not_wait(zygote: Zygote, deeds: Deeds) -> None:
    _end(zygote.spawn())
    assert zygote.answers()
    assert deeds.of == set()


def test_before_a_host_for_triton_zygote_and_judge_find_it_out(zygote: Zygote, deeds: Deeds) -> None:
    _end(zygote.spawn(triton=True))
    assert deeds.of == {zygote.pid, os.getpid()}


def test_several_are_forked_in_the_order_in_which_they_were_asked_for(zygote: Zygote) -> None:
    births = [zygote.spawn() for _ in range(3)]
    assert zygote.answers()
    assert [birth.pid for birth in births] == sorted({birth.pid for birth in births})
    for birth in births:
        _end(birth)
        assert zygote.exit_code(birth.pid) == 0


def test_one_that_is_stopped_does_not_answer(zygote: Zygote) -> None:
    os.kill(zygote.pid, signal.SIGSTOP)
    assert not zygote.answers()
