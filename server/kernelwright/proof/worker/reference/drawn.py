"""The random numbers of one call given to another: torch draws others in float64 than in float32 from the same seed."""

from collections.abc import Iterator
from typing import Any

import torch

from kernelwright.proof.worker.dispatch import DispatchMode

_aten = torch.ops.aten
_DRAWING = (
    _aten.rand,
    _aten.randn,
    _aten.rand_like,
    _aten.randn_like,
    _aten.randint,
    _aten.randint_like,
    _aten.randperm,
    _aten.normal,
    _aten.bernoulli,
    _aten.multinomial,
    _aten.poisson,
    _aten.normal_,
    _aten.uniform_,
    _aten.bernoulli_,
    _aten.exponential_,
    _aten.geometric_,
    _aten.cauchy_,
    _aten.log_normal_,
    _aten.random_,
)


class Drawn(DispatchMode):
    """Keeps what is drawn within it, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: list[torch.Tensor] = []

    def seen(self, func: Any, packet: Any, args: Any, kwargs: Any, made: Any) -> Any:
        if packet is _aten.native_dropout:
            self.numbers.append(made[1].clone())
        elif packet in _DRAWING:
            self.numbers.append(made.clone())
        return made


class DrawnAgain(DispatchMode):
    """Gives the numbers that another call has drawn, in order, as long as they are asked for in the same shapes."""

    def __init__(self, drawn: Drawn) -> None:
        super().__init__()
        self._numbers: Iterator[torch.Tensor] = iter(drawn.numbers)

    def seen(self, func: Any, packet: Any, args: Any, kwargs: Any, made: Any) -> Any:
        dropped = packet is _aten.native_dropout and made[0].dtype == torch.float64
        if not (dropped or packet in _DRAWING):
            return made
        numbers = next(self._numbers, None)
        place = made[1] if dropped else made
        if numbers is None or numbers.shape != place.shape:
            self._numbers = iter(())  # another course: its own numbers from here on
            return made
        place.copy_(numbers)
        if dropped:
            share = args[1] if len(args) > 1 else kwargs["p"]
            made[0].copy_(args[0] * numbers / (1 - share) if share < 1 else torch.zeros_like(args[0]))
        return made
