"""Data of timed calls: new from draw to draw, and always made of the workload's own values."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.proof.worker.fresh import FreshData
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


@pytest.mark.parametrize("pools", [True, False])
@pytest.mark.parametrize("shape", [(40,), (3, 50), (50, 3), (2, 30, 4)])
def test_a_part_changes_at_the_last_moment(shape: tuple[int, ...], pools: bool) -> None:
    x = torch.randn(shape)
    made = FreshData(Inputs((torch.arange(4), x)), random.Random(1), pools=pools)
    before = made.draw().tensors()[1].clone()
    (late,) = made.draw_late(24)
    after = made.inputs.tensors()[1]
    assert late.index == 1
    assert 12 <= late.content.numel() <= 24
    assert (after != before).any()
    assert torch.isin(after, x).all()
    before.narrow(late.dim, late.start, late.content.shape[late.dim]).copy_(late.content)
    assert torch.equal(after, before)


def test_small_tensors_change_as_a_whole_at_the_last_moment() -> None:
    made = data(torch.randn(20, 30))
    before = made.draw().tensors()[0].clone()
    made.draw_late()
    assert ((made.inputs.tensors()[0] != before).float().mean(dim=1) > 0.5).all()


@pytest.mark.parametrize("most", [1 << 10, 8])
def test_what_rises_still_rises_after_the_last_moment(most: int) -> None:
    edges = torch.randn(3, 20).sort(dim=-1).values
    made = data(edges)
    before = made.draw().tensors()[0].clone()
    late = made.draw_late(most)
    after = made.inputs.tensors()[0]
    assert (after.diff(dim=-1) >= 0).all()
    assert len(late) == (most > 8)
    assert torch.equal(before, after) == (most == 8)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(12),
        torch.ones(3, 4),
        torch.full((5,), float("nan")),
        torch.randn(1),
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
        "one element",
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
