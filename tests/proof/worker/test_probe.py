from types import SimpleNamespace

import pytest

from kernelwright.proof.worker.probe import ceilings


@pytest.mark.parametrize(
    ("name", "bandwidth", "tf32"),
    [
        ("NVIDIA H200", 4.8e12, 494.7e12),
        ("NVIDIA H100 80GB HBM3", 3.35e12, 494.7e12),
        ("NVIDIA H100 PCIe", 2.039e12, 378e12),
        ("NVIDIA L40S", 0.864e12, 183e12),
        ("NVIDIA L40", 0.864e12, 90.5e12),
        ("NVIDIA GeForce RTX 4090", 1.008e12, 82.6e12),
    ],
)
def test_ceilings_of_a_named_gpu(name: str, bandwidth: float, tf32: float) -> None:
    found, peaks = ceilings(SimpleNamespace(name=name))
    assert (found, peaks["tf32"]) == (bandwidth, tf32)


def test_ceilings_of_another_gpu_come_from_its_clocks() -> None:
    clocks = {"clock_rate": 2_500_000, "memory_clock_rate": 10_000_000, "memory_bus_width": 256}
    bandwidth, peaks = ceilings(
        SimpleNamespace(name="Unheard of", major=8, minor=9, multi_processor_count=60, **clocks)
    )
    assert bandwidth == 640e9  # 2 x 10 GHz x 32 bytes
    assert peaks == {"float32": 2 * 60 * 128 * 2.5e9}


def test_what_cannot_be_known_is_absent() -> None:
    assert ceilings(SimpleNamespace(name="Unheard of")) == (0.0, {})
