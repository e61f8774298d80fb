"""A place for one worker process."""

import sys

import pytest

from kernelwright.proof.station import Station

pytestmark = pytest.mark.usefixtures("workers_of_their_own")


def test_a_change_of_the_environment_reaches_no_later_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELS_OF_MINE", "before")
    station = Station(sys.executable, "run", None)
    monkeypatch.setenv("KERNELS_OF_MINE", "after")
    assert station.variables["KERNELS_OF_MINE"] == "before"
