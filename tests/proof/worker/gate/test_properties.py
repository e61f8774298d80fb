"""What special data are, and which faults only they show."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.proof.worker.gate.properties import (
    MASKED_ROWS,
    NON_FINITE,
    PROPERTIES,
    VIEWS,
    WHOLE_NUMBERS,
    with_property,
)
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.whole_numbers import is_numbering, never_falls
from proof.worker.trials import ended_by, trial

BEGUN_TOO_HIGH = """
import torch


def f(x):
    largest = x.amax(1, keepdim=True).clamp(min=-1e4)
    e = torch.exp(x - largest)
    return e / e.sum(1, keepdim=True)
"""
SOFTMAX = BEGUN_TOO_HIGH.replace(".clamp(min=-1e4)", "")
# A kernel that reads rows one after another, whatever lies between them.
STRIDES = """
import torch


def f(x, y):
    return torch.as_strided(x, x.shape, (x.stride(0), 1)) * torch.as_strided(y, y.shape, (y.stride(0), 1))
"""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_far_below_zero_is_below_what_maxima_begin_with_in_exact_steps(dtype: torch.dtype) -> None:
    made = PROPERTIES["far below zero"](torch.randn(64, 65).to(dtype)).double()
    assert float(made.max()) == -20480.0
    assert bool(made.isfinite().all())
    assert bool((made % 1024 == 0).all())


def test_a_maximum_that_does_not_begin_at_minus_infinity_is_found() -> None:
    assert ended_by(SOFTMAX, SOFTMAX, "f(randn(48, 65))") == "passed"
    assert ended_by(SOFTMAX, BEGUN_TOO_HIGH, "f(randn(48, 65))") == "nan-parity"


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_views_hold_the_same_values(name: str) -> None:
    given = torch.randn(3, 6, 8), torch.randn(3, 6, 8)
    made = with_property(Inputs(given), name)
    assert made is not None
    assert all(torch.equal(t, x) for t, x in zip(made.tensors(), given, strict=True))
    lies = [[(t.stride(), t.storage_offset()) for t in tensors] for tensors in (made.tensors(), given)]
    assert lies[0] != lies[1]


@pytest.mark.parametrize("name", ["x", "y"])
def test_a_contiguous_tensor_that_is_taken_for_granted_is_found(name: str) -> None:
    wrong = STRIDES.replace(f"({name}.stride(0), 1)", f"({name}.shape[1], 1)")
    assert ended_by(STRIDES, STRIDES, "f(randn(48, 65), randn(48, 65))") == "passed"
    assert ended_by(STRIDES, wrong, "f(randn(48, 65), randn(48, 65))") in ("values", "nan-parity")


HEADS = """
import torch


def f(q):
    b, h, s, d = q.shape
    return torch.as_strided(q, q.shape, q.stride()) * 2
"""


@pytest.mark.parametrize(
    "strides", ["(h * q.stride(1), *q.stride()[1:])", "(h * s * q.stride(2), s * q.stride(2), *q.stride()[2:])"]
)
def test_a_stride_that_follows_from_others_in_a_contiguous_tensor_is_found(strides: str) -> None:
    line = "f(randn(3, 4, 6, 8))"
    assert ended_by(HEADS, HEADS, line) == "passed"
    assert ended_by(HEADS, HEADS.replace("q.stride())", strides + ")"), line) in ("values", "nan-parity", "runs")


HEAD = "import torch\n\n\ndef f(x, y):\n    return "
MEAN = "torch.where(y.any(1), (x * y).sum(1) / y.sum(1), 0.0)"


@pytest.mark.parametrize(
    ("baseline", "wrong", "line"),
    [
        ("torch.xlogy(y, y / x)", "y * torch.log(y / x)", "f(rand(48, 65), rand(48, 65))"),
        ("torch.xlogy(x, x / y)", "x * torch.log(x / y)", "f(rand(48, 65), rand(48, 65))"),
        (MEAN, "(x * y).sum(1) / y.sum(1)", "f(randn(48, 65), randint(0, 2, 48, 65))"),
        (MEAN, "(x * y).sum(1) / y.sum(1)", "f(randn(48, 65), randint(0, 2, 48, 65, dtype=bool))"),
    ],
)
def test_zeros_in_one_input_alone_and_rows_without_any(baseline: str, wrong: str, line: str) -> None:
    assert ended_by(HEAD + baseline, HEAD + baseline, line) == "passed"
    assert ended_by(HEAD + baseline, HEAD + wrong, line) == "nan-parity"


def test_a_lone_input_is_all_zeros() -> None:
    x = torch.randn(6, 8)
    lone, first = (with_property(Inputs(args), "zeros in the first input") for args in ((x,), (x, x)))
    assert lone is not None
    assert first is not None
    assert not lone.args[0].any()
    assert torch.equal(first.args[0][3:], x[3:])
    assert torch.equal(first.args[1], x)


def test_other_whole_numbers_than_zeros_and_ones_are_no_mask() -> None:
    masks = torch.randint(0, 2, (6, 8)), torch.rand(2, 3, 8) > 0.5
    others = torch.randint(0, 3, (6, 8)), masks[0][0]
    made = with_property(Inputs((*masks, *others)), MASKED_ROWS)
    assert made is not None
    assert [one.dtype for one in made.args[:2]] == [torch.int64, torch.bool]
    assert all(not one.reshape(-1, 8)[0].any() and bool(one.reshape(-1, 8)[-1].all()) for one in made.args[:2])
    assert all(one is other for one, other in zip(made.args[2:], others, strict=True))


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=40), st.booleans())
def test_other_whole_numbers_are_the_tensors_own(numbers: list[int], rising: bool) -> None:
    x = torch.tensor(sorted(numbers) if rising else numbers)
    made = PROPERTIES[WHOLE_NUMBERS](x)
    assert made.dtype == x.dtype
    assert set(made.tolist()) <= set(numbers)
    if len(set(numbers)) == len(numbers) and not never_falls(x):
        assert sorted(made.tolist()) == sorted(numbers)
    if rising and not is_numbering(x):
        assert made.tolist() == sorted(made.tolist())
        assert (made[0], made[-1]) == (x[0], x[-1])


def test_neither_a_full_mask_nor_a_numbering_stays() -> None:
    plain = Inputs((torch.randn(48), torch.ones(48, dtype=torch.bool), torch.arange(48)))
    made = with_property(plain, WHOLE_NUMBERS)
    assert made is not None
    x, mask, order = made.args
    assert torch.equal(x, plain.args[0])
    assert 0 < int(mask.sum()) < 48
    assert sorted(order.tolist()) == list(range(48))
    assert order.tolist() != list(range(48))


def test_a_constant_of_one_element_is_varied() -> None:
    made = with_property(Inputs((torch.randn(4), torch.zeros(1), torch.tensor(2.0))), "constants varied")
    assert made is not None
    assert float(made.args[1]) != 0.0
    assert float(made.args[2]) != 2.0


@pytest.mark.parametrize("name", sorted(PROPERTIES.keys() - VIEWS - NON_FINITE))
def test_numbers_that_rise_still_do(name: str) -> None:
    edges = torch.linspace(-1, 1, 3 * 40).reshape(3, 40)
    made = with_property(Inputs((edges, torch.randn(40))), name)
    if made is not None:
        assert bool((made.args[0][..., 1:] >= made.args[0][..., :-1]).all())
    few = with_property(Inputs((edges[:, :4],)), "negative")
    assert few is not None
    assert torch.equal(few.args[0], -edges[:, :4].abs()), "of so few random ones rise as well"


def test_edges_of_bins_may_be_searched_in_any_way() -> None:
    search = "import torch\ndef f(edges, x):\n    return torch.bucketize(x, edges)\n"
    count = search.replace("torch.bucketize(x, edges)", "(edges < x[:, None]).sum(1)")
    case = "f(arange(48, dtype=float32), rand(96))"
    assert ended_by(search, count, case) == "passed"
    assert ended_by(search, count.replace("<", "<="), case) == "values"
    taken_for_granted = search.replace("torch.bucketize(x, edges)", "x.ceil().long().clamp(0, len(edges))")
    assert ended_by(search, taken_for_granted, case) == "values"


@pytest.mark.parametrize(
    ("baseline", "candidate", "told"),
    [
        ("x.sum(-1)", "torch.einsum('ij->i', x)", "one dimension more"),
        ("x * 2", "x * 2 if x.dim() > 1 else x.shape[1]", "one dimension fewer"),
    ],
)
def test_who_raises_at_another_rank_is_told(baseline: str, candidate: str, told: str) -> None:
    head = "import torch\n\n\ndef f(x):\n    return "
    verdict = trial(head + baseline, head + candidate, "f(randn(48, 65))").verdict
    assert f"raises with {told}, where the baseline answers" in verdict.caveats
    assert verdict.failed_checks == ()


@pytest.mark.parametrize("candidate", ["x.softmax(1)", "x.reshape(-1, x.shape[-1]).softmax(-1)"])
def test_who_returns_something_else_there_is_told(candidate: str) -> None:
    head = "import torch\n\n\ndef f(x):\n    return "
    verdict = trial(head + "x.softmax(-1)", head + candidate, "f(randn(48, 65))").verdict
    assert "answers otherwise than the baseline with one dimension more" in verdict.caveats
    assert verdict.failed_checks == ()
