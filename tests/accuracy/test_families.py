"""The program that measures accuracy classes, on its smallest sizes."""

import dataclasses

import pytest
import torch
from benchmarks.accuracy import row, samples, table
from benchmarks.families import FAMILIES


@pytest.mark.parametrize(
    ("function", "dtype", "found"),
    [
        (
            "matrix product",
            torch.float32,
            {
                "split-K": "as accurate as the baseline",
                "three bf16 parts": "as accurate as the baseline",
                "two TF32 parts, error corrected": "as accurate as the baseline",
                "two bf16 parts": "reduced accuracy",
                "TF32": "reduced accuracy",
                "fp16 throughout": "reduced accuracy",
                "bf16 throughout": "reduced accuracy",
            },
        ),
        ("exp(-|x|)", torch.float32, {"polynomial of degree 5": "reduced accuracy"}),
        ("attention", torch.bfloat16, {"flash, fp32 inside": "as accurate as the baseline"}),
    ],
)
def test_the_classes(function: str, dtype: torch.dtype, found: dict[str, str]) -> None:
    family = next(family for family in FAMILIES if family.name == function)
    small = dataclasses.replace(family, sizes=family.sizes[:1])
    of = {sample.rewrite: sample for sample in samples(small, dtype, "cpu", 1)}
    honest = {sample.found for sample in of.values() if sample.kind == "honest"}
    assert {name: of[name].found for name in found} == found
    assert honest <= {"bit-exact", "as accurate as the baseline"}
    assert len(table([row([sample]) for sample in of.values()]).splitlines()) == 2 + len(of)
