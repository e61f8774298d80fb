"""Floating-point operations of operators whose count follows from shapes; a multiply-add counts as two."""

import math
from collections.abc import Callable, Sequence

Shape = Sequence[int]
Flops = Callable[[Sequence[Shape], Sequence[Shape]], int]
"""(shapes of the tensor arguments in order, shapes of the results) -> operations."""


def product(first: int = 0) -> Flops:
    """A matrix product whose left operand is the tensor argument number `first`."""

    def flops(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
        depth = inputs[first][-1] if inputs[first] else 1
        return 2 * math.prod(outputs[0]) * depth

    return flops


def convolution(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    return 2 * math.prod(outputs[0]) * math.prod(inputs[1][1:])


def transposed_convolution(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    return 2 * math.prod(inputs[0]) * math.prod(inputs[1][1:])


def attention(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    """Two products, of queries with keys and of weights with values."""
    return 4 * math.prod(inputs[0]) * inputs[1][-2]
