"""Numbers that rise along every row, as edges of bins and knots must: other numbers in their place rise as well."""

import torch

_BY_CHANCE = 6  # elements of a row; of fewer, random ones rise too often


def rises(tensor: torch.Tensor) -> bool:
    """Whether every element of every row is above the one before."""
    compared = tensor.is_floating_point() and tensor.dtype.itemsize >= 2
    if not compared or tensor.dim() == 0 or tensor.shape[-1] < _BY_CHANCE:
        return False
    return bool((tensor[..., 1:] > tensor[..., :-1]).all())


def rising_as(model: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """`other`, each row in order where those of `model` rise; in `other`'s own memory layout."""
    if not rises(model) or model.shape != other.shape:
        return other
    return other.clone().copy_(other.sort(dim=-1).values)
