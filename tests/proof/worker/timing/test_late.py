"""What changes at the last moment: the same in every process that knows the seed, all over, another in every copy."""

import pytest
import torch

from kernelwright.proof.worker.timing.late import Late, change


def changed(x: torch.Tensor, seed: int = 5, copies: int = 1, copy: int = 0, **how: bool) -> torch.Tensor:
    given = x.clone()
    change(given, Late(0, **how), seed, copies).put(given, copy)
    return given


SHAPES = [(), (1,), (40,), (3, 50), (2, 30, 4), (400, 1000), (3, 90_001), (8191,), (50, 20, 30)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("copies", [1, 3, 32])
def test_every_process_gets_the_same_from_the_seed_and_the_tensors_own_values(
    shape: tuple[int, ...], copies: int
) -> None:
    x = torch.randn(shape)
    for copy in (0, copies - 1):
        one, again = (changed(x, copies=copies, copy=copy) for _ in range(2))
        assert torch.equal(one, again)
        assert torch.isin(one, x).all()


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if torch.Size(shape).numel() > 1])
def test_other_seeds_and_other_copies_change_otherwise(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    first, second = (changed(x, seed=6, copies=2, copy=copy) for copy in (0, 1))
    assert not torch.equal(first, x)
    assert not torch.equal(first, second)
    assert not torch.equal(first, changed(x, seed=7, copies=2))


def test_elements_all_over_a_large_tensor_change() -> None:
    x = torch.arange(400 * 1000.0).view(400, 1000)
    different = changed(x) != x
    assert 3500 < int(different.sum()) <= 4096
    assert different.any(dim=1).float().mean() > 0.99
    assert different.any(dim=0).float().mean() > 0.9


@pytest.mark.parametrize("shape", [(60, 40), (600, 400)])
def test_other_strides_lead_to_the_same_elements(shape: tuple[int, int]) -> None:
    x = torch.randn(shape)
    transposed, gapped = x.t().contiguous().t(), torch.zeros(shape[0], 2 * shape[1])[:, ::2].copy_(x)
    for given in (transposed, gapped):
        change(given, Late(0), 5, 1).put(given, 0)
        assert torch.equal(given, changed(x))


@pytest.mark.parametrize("how", [{}, {"few": True}, {"rising": True}])
@pytest.mark.parametrize("shape", [(6,), (3, 50), (30, 3000)])
def test_it_can_be_undone(shape: tuple[int, ...], how: dict[str, bool]) -> None:
    x = torch.randn(shape).sort(dim=-1).values
    given = x.clone()
    found = change(given, Late(0, **how), 5, 2)
    undo = found.undoing(given, 1)
    found.put(given, 1)
    undo()
    assert torch.equal(given, x)


def test_what_rises_still_rises_and_changes_as_a_whole_or_not() -> None:
    edges = torch.randn(3, 20).sort(dim=-1).values
    after = changed(edges, rising=True)
    assert (after.diff(dim=-1) >= 0).all()
    assert not torch.equal(after, edges)
    assert torch.equal(changed(torch.arange(100_000.0), rising=True), torch.arange(100_000.0))


def test_few_numbers_come_nearer_to_zero_each_time_by_another_factor() -> None:
    seen = {changed(torch.tensor([0.8]), copies=6, copy=copy, few=True).item() for copy in range(6)}
    assert len(seen) == 6
    assert all(0.4 <= one <= 0.8001 for one in seen)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.bfloat16, torch.complex64, torch.float8_e4m3fn])
@pytest.mark.parametrize("size", [50, 50_000])
def test_every_dtype_changes(dtype: torch.dtype, size: int) -> None:
    x = (torch.randn(size) > 0.3).to(dtype)
    after = changed(x)
    assert after.dtype is dtype
    assert not torch.equal(after.to(torch.complex64), x.to(torch.complex64))


def test_an_input_that_requires_grad_changes_and_stays_a_leaf() -> None:
    x = torch.randn(50, requires_grad=True)
    before = x.detach().clone()
    change(x, Late(0), 5, 1).put(x, 0)
    assert x.is_leaf
    assert not torch.equal(x.detach(), before)
