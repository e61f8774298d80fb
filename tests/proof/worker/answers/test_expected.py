"""What answers are held against: the same errors whether or not the baseline is known to be finite, each worked out once."""

import math
from unittest import mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.proof.worker import tensors
from kernelwright.proof.worker.answers import expected as expected_module
from kernelwright.proof.worker.answers.compare import values
from kernelwright.proof.worker.answers.deviation import all_finite, deviation, extent, telling
from kernelwright.proof.worker.answers.expected import Expected
from kernelwright.proof.worker.answers.judge import judge, repeated
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.observe import Observation
from kernelwright.values import Accuracy

NUMBERS = st.floats(-1e30, 1e30, allow_subnormal=False)
ANY = st.one_of(NUMBERS, st.sampled_from([math.inf, -math.inf, math.nan]))


@given(rows=st.lists(st.tuples(ANY, ANY, NUMBERS), min_size=1, max_size=9), scale=st.floats(1e-30, 1e3))
def test_a_finite_baseline_changes_no_error(rows: list[tuple[float, float, float]], scale: float) -> None:
    reference, got, baseline = torch.tensor(rows, dtype=torch.float64).T
    with mock.patch.object(tensors, "_CHUNK", 4):
        plain = deviation(reference, got, baseline, scale)
        known = deviation(reference, got, baseline, scale, finite=True)
    assert repr(plain) == repr(known)  # NaN included


def test_each_is_worked_out_once() -> None:
    x = torch.randn(50, 60)
    expected = Expected(x.double().exp(), x.exp())
    with mock.patch.object(expected_module, "deviation", wraps=deviation) as worked:
        found = [values(expected, x.exp() * factor, 1) for factor in (1.0, 1 + 1e-6, 1.5)]
    assert worked.call_count == 1
    assert found == [
        values(Expected(x.double().exp(), x.exp()), x.exp() * factor, 1) for factor in (1.0, 1 + 1e-6, 1.5)
    ]


def test_an_fp64_run_that_is_far_off_is_not_trusted() -> None:
    x = torch.randn(50, 60)
    far = Expected(x.double() + 1, x)
    assert far.own is None
    assert far.reference is x
    assert Oracle(Observation(x.double() + 1), Observation(x)).own_errors == [None]


@pytest.mark.parametrize("fill", [-1e4, -1e9, torch.finfo(torch.float32).min, 1e30])
@pytest.mark.parametrize("rows", [2, 24, 47])
def test_what_a_mask_fills_with_is_no_typical_size(fill: float, rows: int) -> None:
    x = torch.randn(48, 64)
    x[:rows] = fill
    wide = x.double()
    wide[:rows] *= 1.5  # another number in fp64
    assert 0.5 < Expected(wide, x, masks=True).scale < 2
    assert Expected(None, x).scale > 1e3


def test_other_sizes_stay_as_they_are_beside_masks() -> None:
    x = torch.randn(48, 64)
    few, near, all_alike, nothing = x.clone(), x * 100, torch.full_like(x, 1e9), torch.zeros_like(x)
    few[0] = 1e9  # less than a 32nd
    near[:24] = 1e4
    nothing[:24] = 1e9
    infinite = x.masked_fill(x > 0, -math.inf)
    for one in (x, few, near, all_alike, nothing, infinite):
        assert Expected(one.double(), one, masks=True).scale == Expected(one.double(), one).scale


def test_the_baselines_errors_by_part() -> None:
    x = torch.randn(9)
    baseline = Observation((x.exp(), torch.arange(3), torch.empty(0), 2.0), {1: x.sin()}, {"mean": x.cos()})
    wide = x.double()
    reference = Observation((wide.exp(), torch.arange(3), torch.empty(0), 2.0), {1: wide.sin()}, {})
    errors = Oracle(reference, baseline).own_errors
    assert errors[1:4] == [0.0, 0.0, 0.0]  # whole numbers, none, and a number that is exact
    assert errors[5] is None  # no fp64 run of the buffer
    assert all(error is not None and 0 < error < 1e-6 for error in (errors[0], errors[4]))


@pytest.mark.parametrize(
    ("again", "expected"),
    [
        (Observation([torch.tensor([1.0, math.nan]), 3]), True),
        (Observation([torch.tensor([1.0, 2.0]), 3]), False),
        (Observation([torch.tensor([1.0, math.nan]), 4]), False),
        (Observation([torch.tensor([1.0, math.nan])]), False),
        (Observation([torch.tensor([1.0, math.nan], dtype=torch.float64), 3]), False),
        (Observation([torch.tensor([1.0, math.nan]), 3], {0: torch.zeros(2)}), False),
    ],
)
def test_what_repeats_itself_need_not_be_judged(again: Observation, expected: bool) -> None:
    oracle = Oracle(None, Observation([torch.tensor([1.0, math.nan]), 3]))
    assert repeated(oracle, again) is expected
    assert (judge(oracle, again, 1).finding is None) is expected


@given(
    numbers=st.lists(ANY, max_size=9),
    dtype=st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float64]),
)
def test_the_finite_values_of_a_tensor(numbers: list[float], dtype: torch.dtype) -> None:
    made = torch.tensor(numbers, dtype=dtype)
    kept = [number for number in made.tolist() if math.isfinite(number)]
    with mock.patch.object(tensors, "_CHUNK", 4):
        assert all_finite(made) is (len(kept) == len(numbers))
        assert extent(made) == (min(kept, default=math.inf), max(kept, default=-math.inf))
        assert all_finite(torch.complex(made.double(), torch.zeros(len(numbers)).double())) is all_finite(made)
    assert all_finite(torch.tensor([1, 2]))


@given(pairs=st.lists(st.tuples(ANY, ANY), min_size=1, max_size=4), same=st.booleans())
def test_bits_are_told_apart_but_for_those_of_nan(pairs: list[tuple[float, float]], same: bool) -> None:
    one, other = torch.tensor(pairs, dtype=torch.float32).T.contiguous()
    other = one.clone() if same else other
    found = values(Expected(None, one), other, 1)
    equal = all(repr(a) == repr(b) for a, b in zip(one.tolist(), other.tolist(), strict=True))
    assert (getattr(found, "accuracy", None) is Accuracy.BIT_EXACT) is equal


@given(count=st.integers(1, 200), size=st.floats(1e-200, 1e200))
def test_elements_of_one_size_all_tell_and_beside_a_far_larger_one_it_alone(count: int, size: float) -> None:
    alike = torch.full((count,), -size, dtype=torch.float64)
    assert telling(alike) == pytest.approx(count)
    assert telling(torch.cat([alike, torch.tensor([math.nan, math.inf])])) == pytest.approx(count)
    alike[0] = 1e9 * size
    assert telling(alike) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.complex64, torch.int64, torch.bool])
def test_elements_of_every_dtype_tell(dtype: torch.dtype) -> None:
    assert telling(torch.ones(3, 5, dtype=dtype)) == pytest.approx(15)
    assert telling(torch.zeros(3, 5, dtype=dtype)) == 15
    assert telling(torch.empty(0, dtype=dtype)) == 0
