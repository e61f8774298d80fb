"""Calls of torch operators, for comparing what their rows say with what torch computes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from kernelwright.ops import ROWS, Kind, Row, parameters

# The numbers and options to call with; an operator that is not listed is called with its defaults.
_OPTIONS: dict[str, list[dict[str, Any]]] = {
    "add": [{}, {"alpha": 0.5}],
    "addcdiv": [{"value": 0.5}],
    "addcmul": [{"value": 0.5}],
    "celu": [{"alpha": 1.3}],
    "clamp": [{"min": -0.5, "max": 0.7}, {"min": -0.5}, {"max": 0.7}, {"min": 0.7, "max": -0.5}],
    "clamp_max": [{"max": 0.7}],
    "clamp_min": [{"min": -0.5}],
    "div": [{}, {"rounding_mode": "floor"}],
    "elu": [{"alpha": 1.3}],
    "gelu": [{}, {"approximate": "tanh"}],
    "hardshrink": [{}, {"lambd": 0.7}],
    "hardtanh": [{}, {"min_val": -0.3, "max_val": 0.4}],
    "leaky_relu": [{}, {"negative_slope": 0.3}],
    "masked_fill": [{"value": 0.25}],
    "pow": [{"exponent": exponent} for exponent in (1, 2, 3, 4, 0.5, -0.5, -1, -2)],
    "softplus": [{}, {"beta": 2.0, "threshold": 3.0}],
    "softshrink": [{}, {"lambd": 0.7}],
    "sub": [{}, {"alpha": 0.5}],
    "threshold": [{"threshold": 0.1, "value": 0.7}],
}
_BOOLEANS = ("condition", "mask")


@dataclass(frozen=True)
class Call:
    row: Row
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.row.name, *(f"{name}={value}" for name, value in self.options.items())])

    @property
    def given(self) -> dict[str, Any]:
        """What the row's meaning decides from."""
        return {name: self.options.get(name, default) for name, default in parameters(self.row.name)[0]}

    @property
    def tensors(self) -> tuple[str, ...]:
        return tuple(name for name, value in self.given.items() if value is ...)

    @property
    def meaning(self) -> Any:
        return self.row.meaning(self.given) if callable(self.row.meaning) else self.row.meaning

    def data(self, values: torch.Tensor) -> dict[str, torch.Tensor]:
        """A tensor for each operand: `values`, each time in another order."""
        logical = self.row.name.startswith(("bitwise", "logical"))
        found: dict[str, torch.Tensor] = {}
        for number, name in enumerate(self.tensors):
            rolled = values.roll(number * 7)
            found[name] = rolled > 0 if logical or name in _BOOLEANS else rolled
        return found

    def expected(self, data: dict[str, torch.Tensor]) -> torch.Tensor:
        """What torch answers."""
        named, operands = parameters(self.row.name)
        order = [name for name, _ in named[:operands]]
        values = [data.get(name, self.given[name]) for name in order]
        return function(self.row.name)(*values, **{n: v for n, v in self.options.items() if n not in order})


def function(op: str) -> Callable[..., torch.Tensor]:
    """The function of that name, the one of torch.nn.functional where there are two."""
    rooms = (torch.nn.functional, torch, torch.linalg)
    return next(getattr(room, op) for room in rooms if hasattr(room, op))


POINTWISE = [
    Call(row, options)
    for row in ROWS.values()
    if row.meaning is not None and row.kind is Kind.POINTWISE
    for options in _OPTIONS.get(row.name, [{}])
]
