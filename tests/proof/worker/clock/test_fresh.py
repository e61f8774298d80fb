"""Data of timed calls: new from draw to draw, and always made of the workload's own values."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.proof.worker.clock.fresh import FreshData
from kernelwright.proof.worker.inputs import Inputs


def data(*tensors: torch.Tensor) -> FreshData:
    return FreshData(Inputs(tensors), random.Random(1))


@settings(max_examples=30, deadline=None)
@given(shape=st.lists(st.integers(1, 9), min_size=1, max_size=4), transposed=st.booleans())
def test_every_value_is_one_of_the_tensors_own(shape: list[int], transposed: bool) -> None:
    x = torch.randn(shape).transpose(0, -1) if transposed else torch.randn(shape)
    made = data(x)
    for _ in range(3):
        (drawn,) = made.draw().tensors()
        assert (drawn.shape, drawn.stride(), drawn.dtype) == (x.shape, x.stride(), x.dtype)
        assert torch.isin(drawn.contiguous(), x.contiguous()).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_most_elements_are_new_in_every_row_of_every_draw(dtype: torch.dtype) -> None:
    made = data(torch.randn(64, 100).to(dtype))
    before = made.draw().tensors()[0].clone()
    for _ in range(5):
        drawn = made.draw().tensors()[0].clone()
        assert ((drawn != before).float().mean(dim=1) > 0.5).all()
        before = drawn


def test_one_number_changes_at_the_last_moment_and_keeps_its_range() -> None:
    made = data(torch.tensor(0.9))
    drawn = set()
    for seed in range(5):
        made.draw()
        made.show(seed, 0, 1)
        drawn.add(made.inputs.tensors()[0].item())
    assert len(drawn) == 5
    assert all(0.45 <= one <= 0.9001 for one in drawn)


def test_copies_of_few_numbers_differ_in_one_sample() -> None:
    made = data(torch.randn(4))
    made.draw()
    shown = []
    for copy in (*range(8), 0):
        made.show(3, copy, 8)
        shown.append(tuple(made.inputs.tensors()[0].tolist()))
    assert len(set(shown)) == 8
    assert shown[0] == shown[-1]


def test_zeros_and_ones_of_a_small_mask_stay_zeros_and_ones() -> None:
    made = data(torch.tensor([0.0, 1.0, 1.0, 0.0]))
    for seed in range(5):
        made.draw()
        made.show(seed, 0, 1)
        assert torch.isin(made.inputs.tensors()[0], torch.tensor([0.0, 1.0])).all()


def test_blends_keep_what_lies_between() -> None:
    draws = [torch.randn(6, 6) for _ in range(3)]
    definite = [(a @ a.t() + (a @ a.t()).t()) / 2 + torch.eye(6) for a in draws]
    made = data(definite[0])
    assert made.blend([Inputs((a,)) for a in definite])
    before = definite[0]
    for _ in range(3):
        (drawn,) = made.draw().tensors()
        made.show(1, 0, 1)
        assert torch.equal(drawn, drawn.t())
        assert torch.linalg.eigvalsh(drawn).min() > 0.9
        assert not torch.equal(drawn, before)
        before = drawn.clone()
    assert "blends of 3 draws" in made.described


def test_one_draw_or_another_shape_is_no_blend() -> None:
    a = torch.randn(4, 4)
    assert not data(a).blend([Inputs((a,))])
    assert not data(a).blend([Inputs((a,)), Inputs((torch.randn(5, 4),))])


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(12),
        torch.ones(3, 4),
        torch.full((5,), float("nan")),
        torch.zeros(1),
        torch.randn(1, 4).expand(3, 4),
        torch.tensor([True, True]),
        torch.tensor([0, 3, 3, 9]),
        torch.arange(12).flip(0),
        torch.tensor([1, 0, 1, 3], dtype=torch.uint32),
    ],
    ids=[
        "a numbering",
        "all alike",
        "an output to fill",
        "a zero",
        "expanded",
        "a full mask",
        "offsets",
        "places",
        "unsigned",
    ],
)
def test_what_cannot_vary_stays(tensor: torch.Tensor) -> None:
    made = data(tensor)
    assert torch.equal(*(t.nan_to_num(7.0) if t.is_floating_point() else t for t in (made.draw().tensors()[0], tensor)))
    assert "nothing to vary" in made.described


@pytest.mark.parametrize(
    "tensor",
    [torch.arange(100).flip(0) // 2, torch.rand(100) < 0.5, torch.randn(100, dtype=torch.complex64)],
    ids=["whole numbers", "truth values", "complex numbers"],
)
def test_what_is_no_floating_point_number_varies_too(tensor: torch.Tensor) -> None:
    made = data(tensor)
    (drawn,) = made.draw().tensors()
    assert not torch.equal(drawn, tensor)
    assert set(drawn.tolist()) <= set(tensor.tolist())


def test_whole_numbers_may_be_kept_alone() -> None:
    order, x = torch.arange(100).flip(0) // 2, torch.randn(100)
    given = Inputs((order, x))
    made = FreshData(given, random.Random(1))
    made.draw()
    assert made.keep_whole_numbers(given)
    kept, drawn = made.draw().tensors()
    assert torch.equal(kept, order)
    assert not torch.equal(drawn, x)
    assert not made.keep_whole_numbers(given)


def test_how_many_inputs_stay_the_same_is_said() -> None:
    x, order = torch.randn(100), torch.arange(100)
    assert data(x).described == "other data and addresses for each sample"
    assert data(x, order).described == "other data and addresses for each sample; 1 of 2 inputs stays the same"
    assert data(x, order, torch.ones(3)).described.endswith("; 2 of 3 inputs stay the same")


def test_the_inputs_given_are_left_alone() -> None:
    x = torch.randn(8)
    kept = x.clone()
    data(x).draw()
    assert torch.equal(x, kept)


def test_without_memory_for_pools_a_few_values_change_places() -> None:
    x = torch.randn(100, 100)
    made = FreshData(Inputs((x,)), random.Random(1), pools=False)
    drawn = made.draw().tensors()[0]
    assert 0 < int((drawn != x).sum()) <= 64
    assert "no memory for more" in made.described


def test_frozen_data_stay() -> None:
    x = torch.randn(8)
    made = data(x)
    made.draw()
    made.freeze(Inputs((x,)))
    assert torch.equal(made.draw().tensors()[0], x)
    assert "does not take changed values" in made.described


@pytest.mark.parametrize("pools", [True, False])
def test_numbers_that_rise_are_new_and_still_in_order(pools: bool) -> None:
    edges, others = torch.linspace(0, 1, 2 * 500).reshape(2, 500), torch.randn(2, 500)
    made = FreshData(Inputs((edges, others)), random.Random(1), pools=pools)
    drawn, free = made.draw().tensors()
    assert bool((drawn[:, 1:] >= drawn[:, :-1]).all())
    assert not torch.equal(drawn, edges)
    assert not bool((free[:, 1:] >= free[:, :-1]).all())
