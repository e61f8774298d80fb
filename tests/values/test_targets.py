"""GPUs are found by their names, and only by theirs."""

import pytest

from kernelwright.values.targets import TARGET_NAMES, target


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("NVIDIA H200 141GB", "H200"),
        ("rtx 4090", "RTX4090"),
        ("NVIDIA GeForce RTX 4090", "RTX4090"),
        ("NVIDIA GeForce RTX 3090", "RTX3090"),
        ("H100 PCIe", "H100PCIE"),
        ("NVIDIA H100 80GB PCIe", "H100PCIE"),
        ("NVIDIA H100 NVL", "H100NVL"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("h100_sxm5", "H100"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA A100 80GB PCIe", "A100"),
        ("Tesla V100-SXM2-32GB", "V100"),
        ("Tesla T4", "T4"),
        ("NVIDIA A10", "A10"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40", "L40"),
        ("NVIDIA L40S", "L40S"),
    ],
)
def test_a_gpu_is_found_by_what_it_is_called(name: str, short: str) -> None:
    found = target(name)
    assert found is not None
    assert found == target(short)


@pytest.mark.parametrize("short", TARGET_NAMES)
def test_a_gpu_is_found_by_its_short_name_and_by_the_name_of_its_device(short: str) -> None:
    found = target(short)
    assert found is not None
    assert target(found.name) == found


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA RTX A1000",
        "NVIDIA T400",
        "NVIDIA T400 4GB",
        "NVIDIA A10G",
        "NVIDIA L40S Max",
        "NVIDIA L40G",
        "NVIDIA A100X",
        "NVIDIA GH200 480GB",
        "NVIDIA GB200",
        "NVIDIA H200 NVL",
        "NVIDIA GeForce RTX 3090 Ti",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "GRID A100-10C",
        "NVIDIA",
        "",
    ],
)
def test_another_gpu_is_not_taken_for_one_whose_name_its_own_contains(name: str) -> None:
    assert target(name) is None
