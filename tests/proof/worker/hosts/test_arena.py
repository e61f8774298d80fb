"""Memory that two processes share: neither can take it away from the other."""

import os
import sys

import pytest

from kernelwright.proof.worker.hosts.arena import make_arena


@pytest.mark.skipif(sys.platform != "linux", reason="files in memory are Linux's")
def test_nobody_cuts_an_arena_off() -> None:
    arena = make_arena(1 << 16, "cpu")
    assert arena.descriptor is not None
    for size in (0, 1 << 20):
        with pytest.raises(PermissionError):
            os.ftruncate(arena.descriptor, size)
    assert int(arena.bytes.sum()) == 0
    arena.close()
