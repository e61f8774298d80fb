"""What changes at the last moment: a part that nobody can foresee, another in every copy of the inputs."""

import random

import pytest
import torch

from kernelwright.proof.worker.clock.late import Late, late_part, most_late


def part(tensor: torch.Tensor, copies: int = 1, *, rising: bool = False, scaled: bool = False) -> Late | None:
    values = tensor.reshape(-1)
    return late_part(3, tensor, values, random.Random(1), copies=copies, rising=rising, scaled=scaled)


@pytest.mark.parametrize("shape", [(), (1,), (40,), (3, 50), (50, 3), (2, 30, 4)])
def test_small_tensors_change_as_a_whole(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    late = part(x, 5)
    assert late is not None
    assert (late.index, late.start) == (3, 0)
    assert late.content.shape == (5, *torch.atleast_1d(x).shape)
    assert torch.isin(late.content, x).all()
    for copy in range(5):
        given = torch.zeros(shape)
        late.put(given, copy)
        assert torch.equal(torch.atleast_1d(given), late.content[copy])


@pytest.mark.parametrize(("shape", "copies"), [((400, 1000), 1), ((1000, 400), 4), ((3, 90_000), 2)])
def test_of_large_tensors_a_part_changes_in_every_row_or_in_some_rows(shape: tuple[int, int], copies: int) -> None:
    x = torch.randn(shape)
    late = part(x, copies)
    assert late is not None
    assert (1 << 15) < late.content.numel() <= (1 << 16)
    given = x.clone()
    late.put(given, copies - 1)
    changed = (given != x).nonzero()[:, late.dim]
    assert late.start <= int(changed.min()) <= int(changed.max()) < late.start + late.content.shape[1 + late.dim]


@pytest.mark.parametrize("copies", [1, 7, 32])
@pytest.mark.parametrize("shape", [(), (3,), (40, 50), (3, 90_000), (70_000, 2)])
def test_the_room_suffices(shape: tuple[int, ...], copies: int) -> None:
    x = torch.randn(shape)
    late = part(x, copies)
    assert late is not None
    assert late.content.numel() * 4 <= most_late([x], copies) - 256


def test_where_it_begins_is_drawn() -> None:
    x, generator = torch.randn(1 << 20), random.Random(1)
    starts = {part.start for _ in range(8) if (part := late_part(0, x, x, generator, copies=1))}
    assert len(starts) == 8


def test_what_rises_still_rises_and_changes_as_a_whole_or_not() -> None:
    edges = torch.randn(3, 20).sort(dim=-1).values
    late = part(edges, 2, rising=True)
    assert late is not None
    assert (late.content.diff(dim=-1) >= 0).all()
    assert not torch.equal(late.content[0], edges)
    assert part(torch.arange(100_000.0), rising=True) is None


def test_few_numbers_come_nearer_to_zero_each_time_by_another_factor() -> None:
    x = torch.tensor([0.8])
    late = part(x, 6, scaled=True)
    assert late is not None
    assert late.content.unique().numel() == 6
    assert ((late.content >= 0.4) & (late.content <= 0.8001)).all()


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.bfloat16, torch.complex64])
def test_the_dtype_stays(dtype: torch.dtype) -> None:
    late = part(torch.randn(10).to(dtype), 2)
    assert late is not None
    assert late.content.dtype is dtype
