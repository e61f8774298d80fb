"""New data for every timed call, at the cost of copying them: what an earlier call has computed is of no use in the next.

Each element is one of two of the tensor's own values, drawn by chance from places that nobody can foresee. The values stay
those that the workload asked for: a mask keeps its zeros and ones, a probability stays between them.
"""

import random
from dataclasses import dataclass

import torch

from kernelwright.proof.worker.inputs import Inputs, clone
from kernelwright.proof.worker.rising import rises
from kernelwright.proof.worker.whole_numbers import all_different, is_whole, never_falls

_MOST_EXTRA = 1 << 20  # elements by which a pool is longer than its tensor, and so how many places there are to begin
_SALTED = 64  # elements of each tensor that change where there is no memory for pools
LATE = 1 << 16  # elements of each tensor, about, that change at the last moment


@dataclass(frozen=True)
class Late:
    """What is new in tensor `index` of a sample's inputs since they were sent: `content`, from `start` on along `dim`."""

    index: int
    dim: int
    start: int
    content: torch.Tensor


class FreshData:
    """Inputs whose tensors `draw` changes in place. What is all alike stays as it is, and so do whole numbers that never
    fall, or of which none is there twice; other numbers that rise are drawn anew and put in order.

    `pools`: whether there is memory for all new values; else a few of each tensor change.
    """

    def __init__(self, inputs: Inputs, generator: random.Random, *, pools: bool = True) -> None:
        self.inputs = Inputs(clone(inputs.args), clone(inputs.kwargs))
        self._random = generator
        self._refused = False
        pairs = zip(inputs.tensors(), self.inputs.tensors(), strict=True)
        self._varied = [copy for original, copy in pairs if _varies(original)]
        self._rising = frozenset(number for number, tensor in enumerate(self._varied) if rises(tensor))
        self._pools = [_Pool(tensor, generator) for tensor in self._varied] if pools else None

    @property
    def described(self) -> str:
        if self._refused:
            return "other addresses for each sample, the same data: the baseline does not take changed values"
        if not self._varied:
            return "other addresses for each sample, the same data: the inputs hold nothing to vary"
        if self._pools is None:
            return f"other addresses for each sample, and {_SALTED} other values: no memory for more"
        number = len(self.inputs.tensors())
        same = number - len(self._varied)
        stay = "stays" if same == 1 else "stay"
        kept = f"; {same} of {number} inputs {stay} the same" if same else ""
        return f"other data and addresses for each sample{kept}"

    def draw(self) -> Inputs:
        """The inputs with new contents: the same tensors."""
        with torch.no_grad():
            for number, tensor in enumerate(self._varied):
                if self._pools is None:
                    _salt(tensor, self._random)
                else:
                    tensor.copy_(self._pools[number].draw(self._random).view(tensor.shape))
                if number in self._rising:
                    tensor.copy_(tensor.sort(dim=-1).values)
        return self.inputs

    def draw_late(self, most: int = LATE) -> list[Late]:
        """Change a part of each tensor once more, all of one that has `most` elements or fewer.

        Of what rises nothing in the middle can be another, so it changes where the whole does.
        """
        numbers = {id(tensor): index for index, tensor in enumerate(self.inputs.tensors())}
        found = []
        with torch.no_grad():
            for number, tensor in enumerate(self._varied):
                dim = max(range(tensor.dim()), key=tensor.shape.__getitem__)
                size = tensor.shape[dim]
                length = max(1, min(size, most * size // tensor.numel()))
                if number in self._rising and length < size:
                    continue
                start, other = (self._random.randrange(size - length + 1) for _ in range(2))
                window = tensor.narrow(dim, start, length)
                if self._pools is None:
                    window.copy_(tensor.narrow(dim, other, length).clone())
                else:
                    window.copy_(self._pools[number].draw(self._random, window.numel()).view(window.shape))
                if number in self._rising:
                    window.copy_(window.sort(dim=-1).values)
                found.append(Late(numbers[id(tensor)], dim, start, window))
        return found

    def keep_whole_numbers(self, inputs: Inputs) -> bool:
        """Go on with those of `inputs`: they may decide about the shape of the result. Whether there were such."""
        counted = [t for t in self._varied if not (t.is_floating_point() or t.is_complex())]
        for original, copy in zip(inputs.tensors(), self.inputs.tensors(), strict=True):
            if any(copy is one for one in counted):
                copy.data.copy_(original)
        left = [number for number, t in enumerate(self._varied) if not any(t is one for one in counted)]
        self._varied = [self._varied[number] for number in left]
        self._rising = frozenset(new for new, old in enumerate(left) if old in self._rising)
        self._pools = None if self._pools is None else [self._pools[number] for number in left]
        return bool(counted)

    def freeze(self, inputs: Inputs) -> None:
        """Go on with `inputs` as they are: the baseline does not take changed values."""
        self.inputs = Inputs(clone(inputs.args), clone(inputs.kwargs))
        self._varied, self._pools, self._refused = [], [], True


class _Pool:
    """The values of one tensor, some of them twice, and as many random bits."""

    def __init__(self, tensor: torch.Tensor, generator: random.Random) -> None:
        flat = tensor.detach().reshape(-1)
        self._count = flat.numel()
        self._extra = min(self._count, _MOST_EXTRA)
        # The second value comes from the other half of the tensor, where no window of neighbours reaches.
        self._values, self._others = (self._extended(part) for part in (flat, flat.roll(self._count // 2)))
        seeded = torch.Generator(flat.device).manual_seed(generator.getrandbits(60))
        self._chosen = torch.randint(0, 2, self._values.shape, generator=seeded, device=flat.device, dtype=torch.bool)

    def draw(self, generator: random.Random, count: int = 0) -> torch.Tensor:
        """`count` values, or as many as the tensor has, flat."""
        pools = (self._chosen, self._values, self._others)
        return torch.where(*(self._window(pool, generator, count or self._count) for pool in pools))

    def _extended(self, flat: torch.Tensor) -> torch.Tensor:
        return torch.cat([flat, flat[: self._extra]])

    def _window(self, pool: torch.Tensor, generator: random.Random, count: int) -> torch.Tensor:
        start = generator.randrange(self._extra + self._count - count)
        return pool[start : start + count]


def _varies(tensor: torch.Tensor) -> bool:
    other = tensor.is_floating_point() or tensor.is_complex() or tensor.dtype is torch.bool
    if tensor.numel() < 2 or 0 in tensor.stride() or not (other or is_whole(tensor)):
        return False
    flat = tensor.detach().reshape(-1)
    if is_whole(tensor) and (never_falls(flat) or all_different(flat)):
        return False  # offsets; places of which each is written to once
    first = flat[0]
    return not bool(((tensor == first) | ((tensor != tensor) & (first != first))).all())


def _salt(tensor: torch.Tensor, generator: random.Random) -> None:
    """A few elements take values from elsewhere in the tensor."""
    count = min(_SALTED, tensor.numel())
    seeded = torch.Generator().manual_seed(generator.getrandbits(60))
    places = [torch.randint(0, size, (2, count), generator=seeded).to(tensor.device) for size in tensor.shape]
    tensor.index_put_(tuple(p[0] for p in places), tensor[tuple(p[1] for p in places)])
