"""What changes of a timed call's inputs at the last moment, when the judge's clock runs already: what was computed of them
before is wrong then. Each copy of the inputs in a sample gets contents of its own, so that none is like another.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass

import torch

_LATE = 1 << 16  # elements of each tensor, about, that change, in all copies together
_ALIGNED = 256  # bytes between two tensors that lie beside each other, at most


@dataclass(frozen=True)
class Late:
    """What is new in tensor `index` of a call's inputs since they were sent: from `start` on along `dim`.

    `content` holds it for each copy of the inputs, (copies, ...). A tensor without dimensions counts as one of one element.
    """

    index: int
    dim: int
    start: int
    content: torch.Tensor

    def put(self, tensor: torch.Tensor, copy: int) -> None:
        """Make `tensor` what it is in this copy of the inputs."""
        length = self.content.shape[1 + self.dim]
        torch.atleast_1d(tensor).narrow(self.dim, self.start, length).copy_(self.content[copy])


def most_late(tensors: Iterable[torch.Tensor], copies: int) -> int:
    """Bytes that the late parts of these tensors take at most."""
    shapes = ((min(copies * tensor.numel(), max(_LATE, copies)), tensor) for tensor in tensors)
    return sum(elements * tensor.element_size() + _ALIGNED for elements, tensor in shapes)


def late_part(
    index: int,
    tensor: torch.Tensor,
    values: torch.Tensor,
    generator: random.Random,
    *,
    copies: int,
    rising: bool = False,
    scaled: bool = False,
) -> Late | None:
    """Elements of `values`, which are flat, for a part of `tensor` that nobody can foresee; for all of it where it is small.

    `rising`: in order along the last dimension, where all of it changes; else None, since nothing in the middle of what rises
    can be another. `scaled`: times a factor from 1/2 to 1, where the values are too few to be others in every call.
    """
    shape = torch.atleast_1d(tensor).shape
    dim = max(range(len(shape)), key=shape.__getitem__)
    size = shape[dim]
    length = max(1, min(size, _LATE // copies * size // tensor.numel()))
    if rising and length < size:
        return None
    start = generator.randrange(size - length + 1)
    seeded = torch.Generator(tensor.device).manual_seed(generator.getrandbits(60))
    drawn = (copies, *shape[:dim], length, *shape[dim + 1 :])
    content = values[torch.randint(values.numel(), drawn, generator=seeded, device=tensor.device)]
    if scaled:
        factors = torch.rand((copies, *(1 for _ in shape)), generator=seeded, device=tensor.device)
        content = content * ((1 + factors) / 2).to(content.dtype)
    return Late(index, dim, start, content.sort(dim=-1).values if rising else content)
