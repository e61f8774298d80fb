"""What holds for all tests."""

import os
from collections.abc import Iterator

import pytest

import kept

# Else torch.compile finds out by compiling for each in turn, once for each cache, whether the vector instructions work that
# the CPU says it has. That is two thirds of what it takes.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")


@pytest.fixture(scope="session", autouse=True)
def _kept_workers_end() -> Iterator[None]:
    yield
    kept.end()
