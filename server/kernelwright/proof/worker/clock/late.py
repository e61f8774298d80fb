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
_randint, _with_dimension = torch.randint, torch.atleast_1d
_detach, _view, _flat, _unbind = torch.Tensor.detach, torch.Tensor.view, torch.Tensor.reshape, torch.Tensor.unbind
_copy, _read, _put = torch.Tensor.copy_, torch.Tensor.__getitem__, torch.Tensor.index_put_
_add, _remainder, _times, _sort, _clone = torch.add, torch.remainder, torch.mul, torch.sort, torch.clone

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
    """What is late in one tensor, by copy: flat places to take all of it from, or `places` by dimension, which take the values
    that lie `offsets` further on; the same place always the same value, however often it is drawn.
    """

    late: Late
    picks: tuple[torch.Tensor, ...]
    places: tuple[tuple[torch.Tensor, ...], ...]
    offsets: tuple[int, ...]
    factors: tuple[float, ...]

    def put(self, tensor: torch.Tensor, copy: int) -> Callable[[], None]:
        """Make `tensor` what it is in this copy of the inputs. Returns what undoes it."""
        plain = _plain(tensor)
        if self.picks:
            before = _clone(plain)
            content = _read(_flat(plain, (-1,)), self.picks[copy])
            if self.late.few:
                content = _times(content, self.factors[copy])
            content = _view(content, plain.shape)
            _copy(plain, _sort(content, -1)[0] if self.late.rising else content)
            return lambda: _copy(plain, before)
        if not self.places:
            return lambda: None
        places = tuple(by_copy[copy] for by_copy in self.places)
        moved = zip(places, self.offsets, plain.shape, strict=True)
        source = tuple(_remainder(_add(place, offset), size) for place, offset, size in moved)
        values, old = _read(plain, source), _read(plain, places)
        _put(plain, places, values)
        return lambda: _put(plain, places, old)


def change(tensor: torch.Tensor, late: Late, seed: int, copies: int) -> Change:
    """What is late in `tensor`, in each of `copies` of the inputs: the same in every process that has such a tensor."""
    shape, size = _plain(tensor).shape, tensor.numel()
    count = min(size, max(min(_MOST, _MOST_TOGETHER // copies), 1))
    generator = _Generator(tensor.device)
    _seed(generator, seed + late.index)
    draw = lambda most: _unbind(_randint(most, (copies, count), generator=generator, device=tensor.device))
    numbers = _Random(seed + late.index)
    if count == size:
        return Change(late, draw(size), (), (), tuple((1 + numbers.random()) / 2 for _ in range(copies)))
    if late.rising:
        return Change(late, (), (), (), ())
    return Change(late, (), tuple(draw(one) for one in shape), tuple(numbers.randrange(one) for one in shape), ())


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """Its memory without a gradient, with a dimension at least; floats of 8 bits as bytes, since torch cannot place them."""
    tensor = _with_dimension(_detach(tensor))
    small = tensor.is_floating_point() and tensor.element_size() == 1
    return _view(tensor, torch.uint8) if small else tensor
