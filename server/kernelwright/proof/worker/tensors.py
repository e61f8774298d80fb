"""Compares tensors bit for bit, in chunks that fit beside large ones."""

import torch

_CHUNK = 1 << 24  # elements compared at a time, in fp64: 128 MiB per operand


def chunks(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The tensor's elements in parts that fit; those of 8 floating-point bits as float32, since little is computed in them."""
    eight_bits = has_eight_bits(tensor)
    return [part.float() if eight_bits else part for part in tensor.detach().reshape(-1).split(_CHUNK)]


def has_eight_bits(tensor: torch.Tensor) -> bool:
    """Whether its elements are floating-point numbers of 8 bits."""
    return tensor.is_floating_point() and tensor.dtype.itemsize == 1


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal in form and in every element, NaN equal to NaN."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    for x, y in zip(chunks(a), chunks(b), strict=True):
        if torch.equal(x, y):
            continue  # nearly always, and less work
        equal = x == y
        if x.is_floating_point() or x.is_complex():
            equal |= (x != x) & (y != y)
        if not bool(equal.all()):
            return False
    return True


def may_be_written(after: torch.Tensor, before: torch.Tensor) -> bool:
    """Whether a call has written to a tensor: where all of it was NaN, as memory for results is, NaN may be the result."""
    if not same_bits(after, before):
        return True
    return before.is_floating_point() and before.numel() > 0 and bool(torch.isnan(before).all())


def as_tensor(number: float) -> torch.Tensor:
    return torch.tensor([number], dtype=torch.float32)
