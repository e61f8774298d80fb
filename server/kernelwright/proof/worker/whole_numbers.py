"""What numbers are for, as far as they show it: a numbering, offsets, edges that rise, places of which each is there once."""

from collections.abc import Sequence

import torch

_COMPUTED_WITH = frozenset({torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64})
_BY_CHANCE = 6  # elements of a row; of fewer, random ones rise too often


def is_whole(tensor: torch.Tensor) -> bool:
    """Whether it holds whole numbers, of a type for which torch has more than a name (wider unsigned ones have little)."""
    return tensor.dtype in _COMPUTED_WITH


def never_falls(flat: torch.Tensor) -> bool:
    """As offsets and sorted keys do."""
    return bool((flat[1:] >= flat[:-1]).all())


def is_numbering(flat: torch.Tensor) -> bool:
    """Each number one more than the one before."""
    return bool((flat[1:] - flat[:-1] == 1).all())


def all_different(flat: torch.Tensor) -> bool:
    """No number is there twice."""
    return flat.unique().numel() == flat.numel()


def rises(tensor: torch.Tensor) -> bool:
    """Whether every element of every row is above the one before, as edges of bins and knots must be."""
    compared = tensor.is_floating_point() and tensor.dtype.itemsize >= 2
    if not compared or tensor.dim() == 0 or tensor.shape[-1] < _BY_CHANCE:
        return False
    return bool((tensor[..., 1:] > tensor[..., :-1]).all())


def rising_as(model: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """`other`, each row in order where those of `model` rise; in `other`'s own memory layout."""
    if not rises(model) or model.shape != other.shape:
        return other
    return other.clone().copy_(other.sort(dim=-1).values)


def with_planted(x: torch.Tensor, numbers: Sequence[int]) -> torch.Tensor:
    """A quarter of the elements is one of these numbers or another; each stands somewhere."""
    generator = torch.Generator().manual_seed(x.numel())
    chosen = torch.rand(x.numel(), generator=generator) < 0.25
    chosen[: len(numbers)] = True
    which = torch.arange(x.numel()) % len(numbers)
    planted = torch.tensor(numbers, dtype=x.dtype)[which].to(x.device)
    return torch.where(chosen.to(x.device), planted, x.reshape(-1)).reshape(x.shape)
