"""What holds for all tests."""

import contextlib
import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import kept
import warm
from longest import LONGEST

# Else torch.compile finds out by compiling for each in turn, once for each cache, whether the vector instructions work that
# the CPU says it has. That is two thirds of what it takes.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")
# Else torch's threads spin after their work, on cores that other processes of the tests wait for.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # and numpy's wait for one another, in Triton's interpreter
kept.begin()


def pytest_configure(config: pytest.Config) -> None:
    """One place to fork workers for all processes of the tests, in that which starts the others.

    With others, all tests are run: what forks is ready by the time that these have been collected.
    """
    if warm.PLACE not in os.environ:
        place = contextlib.ExitStack()
        place.enter_context(warm.begin(at_once=bool(config.getoption("numprocesses", None))))
        config.add_cleanup(place.close)
    warm.install()


@pytest.fixture
def workers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers start as a user's do, and are children of this process."""
    monkeypatch.delenv(warm.PLACE)


@pytest.fixture(scope="session", autouse=True)
def _kept_workers_end() -> Iterator[None]:
    yield
    kept.end()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: one that begins last is waited for while the other processes idle."""
    here = Path(__file__).parent
    places = {here / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


def pytest_collection_finish() -> None:
    """What was collected is there to stay: looking through it again and again takes a tenth of the time in here.

    What tests make is looked through more rarely: another 4 %.
    """
    gc.freeze()
    gc.set_threshold(20_000)
