import pytest

from kernelwright.proof.worker.compiling.occupancy import occupancy


@pytest.mark.parametrize(
    ("capability", "num_warps", "registers", "shared", "share", "blocks", "limited_by"),
    [
        (90, 4, 32, 0, 1.0, 16, "threads"),
        (90, 1, 32, 0, 0.5, 32, "blocks"),
        (90, 8, 255, 0, 0.125, 1, "registers"),
        (90, 8, 64, 100 << 10, 0.25, 2, "shared memory"),
        (90, 4, 64, 228 << 10, 0.0, 0, "shared memory"),  # more than one block may have
        (80, 4, 40, 0, 0.75, 12, "registers"),  # 40 registers take 1280 a warp
        (86, 8, 32, 0, 1.0, 6, "threads"),
        (91, 4, 32, 0, 1.0, 16, "threads"),  # unknown: the nearest older one
    ],
)
def test_occupancy(
    capability: int, num_warps: int, registers: int, shared: int, share: float, blocks: int, limited_by: str
) -> None:
    found = occupancy(capability, num_warps=num_warps, registers=registers, shared_bytes=shared)
    assert (found.share, found.blocks, found.limited_by) == (share, blocks, limited_by)
