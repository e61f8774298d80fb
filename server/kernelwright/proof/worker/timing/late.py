"""What changes of a timed call's inputs at the last moment, when the judge's clock runs already: what was computed of them
before is wrong then.

It follows from a seed alone, which the host is told together with the request to begin, and which the judge applies to its own
copy where it compares: nothing but a number has to cross. Elements all over a tensor take the values of others, so that
most rows change and none of it can be told without reading it; each copy of the inputs in a sample gets others.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch

# Taken before any user code runs, as in all of the clock: replacing them later changes nothing here.
_Random, _Generator, _seed = random.Random, torch.Generator, torch.Generator.manual_seed
_randint, _with_dimension, _sort, _clone = torch.randint, torch.atleast_1d, torch.sort, torch.clone
_detach, _view, _flat, _unbind = torch.Tensor.detach, torch.Tensor.view, torch.Tensor.reshape, torch.Tensor.unbind
_copy, _read, _put, _to = torch.Tensor.copy_, torch.Tensor.__getitem__, torch.Tensor.index_put_, torch.Tensor.to
_is_contiguous, _is_floating_point = torch.Tensor.is_contiguous, torch.Tensor.is_floating_point
_add, _remainder, _times, _divide = torch.add, torch.remainder, torch.mul, torch.floor_divide

# Elements of each tensor, in one copy of the inputs and in all together. What is so small torch works on in one thread: the
# threads of a larger operation go on spinning for a while, and would take the cores from the call that is timed.
_MOST, _MOST_TOGETHER = 1 << 12, 1 << 14


@dataclass(frozen=True)
class Late:
    """Tensor `index` of the inputs changes.

    `rising`: its rows stay in order, for which all of it changes, or nothing where it is large. `few`: it also comes nearer to
    zero by a factor from 1/2 to 1, since its values are too few for new ones each time.
    """

    index: int
    rising: bool = False
    few: bool = False


@dataclass(frozen=True)
class Change:
    """What is late in one tensor, by copy: flat places to take all of it from, or, by dimension, the `places` that change and
    those whose values they take (`sources`); the same place always the same value, however often it is drawn.
    """

    late: Late
    picks: tuple[torch.Tensor, ...] = ()
    places: tuple[tuple[torch.Tensor, ...], ...] = ()
    sources: tuple[tuple[torch.Tensor, ...], ...] = ()
    factors: tuple[float, ...] = ()

    def put(self, tensor: torch.Tensor, copy: int) -> None:
        """Make `tensor` what it is in this copy of the inputs."""
        if self.picks:
            plain = _plain(tensor)
            content = _read(_flat(plain, (-1,)), self.picks[copy])
            if self.late.few:
                content = _times(content, self.factors[copy])
            content = _view(content, plain.shape)
            _copy(plain, _sort(content, -1)[0] if self.late.rising else content)
        elif self.places:
            plain = _in_row(tensor)
            places, sources = (tuple(one[copy] for one in where) for where in (self.places, self.sources))
            _put(plain, places, _read(plain, sources))

    def undoing(self, tensor: torch.Tensor, copy: int) -> Callable[[], None]:
        """What makes `tensor` again what it is now, after `put`."""
        if self.picks:
            plain, before = _plain(tensor), _clone(_plain(tensor))
            return lambda: _copy(plain, before)
        if not self.places:
            return lambda: None
        plain, places = _in_row(tensor), tuple(one[copy] for one in self.places)
        old = _read(plain, places)
        return lambda: _put(plain, places, old)


def change(tensor: torch.Tensor, late: Late, seed: int, copies: int) -> Change:
    """What is late in `tensor`, in each of `copies` of the inputs: the same in every process that has such a tensor.

    It is drawn on the CPU: on a GPU each further operation is a kernel that a fresh process has to load first.
    """
    size = tensor.numel()
    count = min(size, max(min(_MOST, _MOST_TOGETHER // copies), 1))
    if late.rising and count < size:
        return Change(late)
    generator, numbers = _Generator(), _Random(seed + late.index)
    _seed(generator, seed + late.index)
    drawn = _randint(size, (copies, count), generator=generator)
    if count == size:
        factors = tuple((1 + numbers.random()) / 2 for _ in range(copies))
        return Change(late, picks=_unbind(_to(drawn, tensor.device)), factors=factors)
    moved = _remainder(_add(drawn, numbers.randrange(1, size)), size)
    return Change(late, places=_indices(tensor, drawn), sources=_indices(tensor, moved))


def _indices(tensor: torch.Tensor, flat: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], ...]:
    """The flat places (copies, count) as indices into `_in_row` of the tensor, by dimension and copy."""
    found: list[tuple[torch.Tensor, ...]] = []
    for size in reversed(_in_row(tensor).shape):
        found.insert(0, _unbind(_to(_remainder(flat, size), tensor.device)))
        flat = _divide(flat, size)
    return tuple(found)


def _in_row(tensor: torch.Tensor) -> torch.Tensor:
    """`_plain`, of one dimension where that is the same memory."""
    plain = _plain(tensor)
    return _view(plain, (-1,)) if _is_contiguous(plain) else plain


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """Its memory without a gradient, with a dimension at least; floats of 8 bits as bytes, since torch cannot place them."""
    tensor = _with_dimension(_detach(tensor))
    small = _is_floating_point(tensor) and tensor.element_size() == 1
    return _view(tensor, torch.uint8) if small else tensor
