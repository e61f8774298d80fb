"""Python numbers as results: held to what a tensor of one element is held to, and looked at on all sizes and data."""

import math
from collections import namedtuple

import pytest

from kernelwright.proof.worker.answers.form import structure
from kernelwright.proof.worker.answers.judge import judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.observe import Observation
from proof.worker.trials import ended_by

LENGTH = 30_000  # terms summed
SUM = "def f(x):\n    return x.sum().item()\n"


def found(double: object, base: object, got: object) -> str:
    """The name of the check that ends the answer `got`, "" where none does."""
    oracle = Oracle(Observation(double) if double is not None else None, Observation(base))
    finding = judge(oracle, Observation(got), LENGTH).finding
    return finding.name if finding else ""


@pytest.mark.parametrize(
    ("double", "base", "got", "check"),
    [
        (1.0, 1.0 + 2**-20, 1.0, ""),
        (1.0, 1.0 + 2**-20, 1.0 - 2**-20, ""),
        (1.0, 1.0, 1.001, "accuracy"),
        (1.0, 1.0, 1.2, "values"),
        (None, 1.0, 1.00001, ""),
        (0.1, 0.1, 0.100001, "values"),  # not float32's: it was computed in float64
        (1.0, 1.0, math.nan, "nan-parity"),
        (math.nan, math.nan, math.nan, ""),
        (1e300, 1e300, 2e300, "values"),
        (3, 4, 3, ""),  # what is above a threshold hangs on a rounding
        (3, 4, 5, "values"),
        (True, 1, True, "structure"),
        ("a", "a", "b", "values"),
        (None, None, None, ""),
    ],
)
def test_a_number_is_judged_as_a_tensor_of_one_element(double: object, base: object, got: object, check: str) -> None:
    assert found(double, base, got) == check


def test_named_tuples_that_each_call_makes_anew() -> None:
    pair = lambda name="pair", fields="a b": namedtuple(name, fields)(1, 2)
    assert structure(pair(), pair()) is None
    assert all(structure(pair(), other) for other in (pair("others"), pair(fields="a c"), (1, 2)))


def test_numbers_are_looked_at_on_other_sizes_and_data() -> None:
    assert ended_by(SUM, SUM.replace("x.sum()", "x.flatten()[:28800].sum()"), "f(randn(96, 300))") == "values"
    assert ended_by(SUM, SUM.replace("x.sum()", "x.double().sum().float()"), "f(randn(96, 300))") == "passed"
    assert ended_by(SUM, SUM.replace("x.sum()", "x.nansum()"), "f(randn(96, 300))") == "nan-parity"
