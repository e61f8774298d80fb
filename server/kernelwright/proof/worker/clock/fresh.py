"""New data for every timed call, at the cost of copying them: what an earlier call has computed is of no use in the next.

Each element is one of two of the tensor's own values, drawn by chance from places that nobody can foresee. The values stay
those that the workload asked for: a mask keeps its zeros and ones, a probability stays between them.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.timing.late import Late, change
from kernelwright.proof.worker.whole_numbers import all_different, is_whole, never_falls, rises

_MOST_EXTRA = 1 << 20  # elements by which a pool is longer than its tensor, and so how many places there are to begin
_SALTED = 64  # elements of each tensor that change where there is no memory for pools
_FEW = 256  # elements of a tensor, of which two draws may be alike


class FreshData:
    """Inputs whose tensors `draw` changes in place. What is all alike stays as it is, and so do whole numbers that never
    fall, or of which none is there twice; other numbers that rise are drawn anew and put in order.

    `pools`: whether there is memory for all new values; else a few of each tensor change.
    """

    def __init__(self, inputs: Inputs, generator: random.Random, *, pools: bool = True) -> None:
        self.inputs = inputs.copied()
        self._random = generator
        self._pooled = pools
        self._blended: Sequence[Inputs] = ()
        self._refused = False
        self._shown: list[Callable[[], None]] = []
        pairs = zip(inputs.tensors(), self.inputs.tensors(), strict=True)
        self._varied = [
            _Varied(copy, Late(index, rises(copy), _few(copy)), _Pool(copy, generator) if pools else None)
            for index, (original, copy) in enumerate(pairs)
            if _varies(original)
        ]

    @property
    def described(self) -> str:
        if self._refused:
            return "other addresses for each sample, the same data: the baseline does not take changed values"
        if not self._varied:
            return "other addresses for each sample, the same data: the inputs hold nothing to vary"
        if not self._pooled:
            return "other addresses for each sample, and a few other values: no memory for more"
        blended = f", blends of {len(self._blended)} draws" if self._blended else ""
        number = len(self.inputs.tensors())
        same = number - len(self._varied)
        stay = "stays" if same == 1 else "stay"
        kept = f"; {same} of {number} inputs {stay} the same" if same else ""
        return f"other data and addresses for each sample{blended}{kept}"

    def draw(self) -> Inputs:
        """The inputs with new contents: the same tensors."""
        self._shown = []
        with torch.no_grad():
            if self._blended:
                self._blend()
            for one in () if self._blended else self._varied:
                if one.pool is None:
                    _salt(one.tensor, self._random)
                else:
                    one.tensor.copy_(one.pool.draw(self._random).view(one.tensor.shape))
                if one.late.rising:
                    one.tensor.copy_(one.tensor.sort(dim=-1).values)
        return self.inputs

    @property
    def late(self) -> tuple[Late, ...]:
        """What changes once more at the last moment.

        Nothing of blends: a part of one draw beside another's is what the baseline may not take.
        """
        return () if self._blended else tuple(one.late for one in self._varied)

    def show(self, seed: int, copy: int, copies: int) -> None:
        """Make the inputs what they are in this one of `copies`: as drawn last, with what is late."""
        tensors = self.inputs.tensors()
        with torch.no_grad():
            for undo in reversed(self._shown):
                undo()
            self._shown = []
            for one in self.late:
                found, tensor = change(tensors[one.index], one, seed, copies), tensors[one.index]
                self._shown.append(found.undoing(tensor, copy))
                found.put(tensor, copy)

    def keep_whole_numbers(self, inputs: Inputs) -> bool:
        """Go on with those of `inputs`: they may decide about the shape of the result. Whether there were such."""
        counted = [one for one in self._varied if not (one.tensor.is_floating_point() or one.tensor.is_complex())]
        originals = inputs.tensors()
        for one in counted:
            one.tensor.copy_(originals[one.late.index])
        self._varied = [one for one in self._varied if one not in counted]
        return bool(counted)

    def blend(self, draws: Sequence[Inputs]) -> bool:
        """Go on with weighted means of these: what holds for all of them and for what lies between (symmetric, positive
        definite, in order, rows that sum to one) holds for each. Whether they can be blended.
        """
        shapes = {tuple(tensor.shape for tensor in one.tensors()) for one in (self.inputs, *draws)}
        if not (self._pooled and self._varied and len(draws) > 1 and len(shapes) == 1):
            return False
        self._blended = draws
        return True

    def freeze(self, inputs: Inputs) -> None:
        """Go on with `inputs` as they are: the baseline does not take changed values."""
        self.inputs = inputs.copied()
        self._varied, self._blended, self._shown, self._refused = [], (), [], True

    def _blend(self) -> None:
        """Uniform weights (normalised exponential numbers); products apart from sums, so that what is symmetric stays so."""
        weights = [self._random.expovariate(1.0) for _ in self._blended]
        drawn = [one.tensors() for one in self._blended]
        for one in self._varied:
            one.tensor.zero_()
            for weight, tensors in zip(weights, drawn, strict=True):
                one.tensor.add_(tensors[one.late.index] * (weight / sum(weights)))


@dataclass(frozen=True, eq=False)
class _Varied:
    """A tensor of the inputs which changes."""

    tensor: torch.Tensor
    late: Late
    pool: "_Pool | None"


class _Pool:
    """The values of one tensor, some of them twice, and as many random bits."""

    def __init__(self, tensor: torch.Tensor, generator: random.Random) -> None:
        flat = tensor.detach().reshape(-1)
        self._count = flat.numel()
        self._extra = min(self._count, _MOST_EXTRA)
        # The second value comes from the other half of the tensor, where no window of neighbours reaches.
        self._values, self._others = (
            torch.cat([part, part[: self._extra]]) for part in (flat, flat.roll(self._count // 2))
        )
        seeded = torch.Generator(flat.device).manual_seed(generator.getrandbits(60))
        self._chosen = torch.randint(0, 2, self._values.shape, generator=seeded, device=flat.device, dtype=torch.bool)

    def draw(self, generator: random.Random) -> torch.Tensor:
        """As many values as the tensor has, flat."""
        windows = (self._window(pool, generator) for pool in (self._chosen, self._values, self._others))
        return torch.where(*windows)

    def _window(self, pool: torch.Tensor, generator: random.Random) -> torch.Tensor:
        start = generator.randrange(self._extra)
        return pool[start : start + self._count]


def _varies(tensor: torch.Tensor) -> bool:
    other = tensor.is_floating_point() or tensor.is_complex() or tensor.dtype is torch.bool
    if not tensor.numel() or 0 in tensor.stride() or not (other or is_whole(tensor)):
        return False
    if tensor.numel() == 1:
        return _few(tensor)
    flat = tensor.detach().reshape(-1)
    if is_whole(tensor) and (never_falls(flat) or all_different(flat)):
        return False  # offsets; places of which each is written to once
    first = flat[0]
    return not bool(((tensor == first) | ((tensor != tensor) & (first != first))).all())


def _few(tensor: torch.Tensor) -> bool:
    """Few numbers, each another, which stay in their range when they are a little nearer to zero."""
    if not tensor.is_floating_point() or tensor.numel() > _FEW or tensor.dtype.itemsize < 2:
        return False
    flat = tensor.detach().reshape(-1)
    return bool(flat.isfinite().all() and flat.any()) and all_different(flat)


def _salt(tensor: torch.Tensor, generator: random.Random) -> None:
    """A few elements take values from elsewhere in the tensor."""
    count = min(_SALTED, tensor.numel())
    seeded = torch.Generator().manual_seed(generator.getrandbits(60))
    places = [torch.randint(0, size, (2, count), generator=seeded).to(tensor.device) for size in tensor.shape]
    tensor.index_put_(tuple(p[0] for p in places), tensor[tuple(p[1] for p in places)])
