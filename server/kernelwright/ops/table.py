"""The table of all torch operators, and what is looked up in it."""

import ast
import functools
import math
from collections.abc import Callable, Sequence

from kernelwright.ops.costs import Shape
from kernelwright.ops.layout import LAYOUT
from kernelwright.ops.losses import LOSSES
from kernelwright.ops.normalisations import NORMALISATIONS
from kernelwright.ops.pointwise import POINTWISE
from kernelwright.ops.pooling import POOLS
from kernelwright.ops.products import PRODUCTS
from kernelwright.ops.random import CREATIONS, RANDOM
from kernelwright.ops.reductions import REDUCTIONS
from kernelwright.ops.row import Kind, Row

ROWS: dict[str, Row] = {
    **POINTWISE, **REDUCTIONS, **NORMALISATIONS, **LOSSES, **PRODUCTS, **POOLS, **LAYOUT, **RANDOM, **CREATIONS,
}  # fmt: skip
_UNKNOWN = Row("", Kind.OTHER)

Parameters = tuple[tuple[str, object], ...]
"""(name, default), …; a default of `...` means required."""


def row(op: str) -> Row:
    """The row of an operator; for one that is not in the table, a row that says nothing."""
    return ROWS.get(op, _UNKNOWN)


def names(where: Callable[[Row], object]) -> frozenset[str]:
    """The operators whose rows are so."""
    return frozenset(name for name, row in ROWS.items() if where(row))


def of_kind(*kinds: Kind) -> frozenset[str]:
    return names(lambda row: row.kind in kinds)


@functools.cache
def signature(op: str) -> tuple[Parameters, int] | None:
    """The parameters and how many of them are operands; None where a Node keeps the arguments as they were given."""
    found = row(op)
    return None if found.as_given or not found.signature else parameters(op)


@functools.cache
def parameters(op: str) -> tuple[Parameters, int]:
    """All parameters of an operator, however a Node keeps them, and how many of them are operands."""
    operands, _, options = row(op).signature.partition(" * ")
    return tuple(_parameter(word) for word in (*operands.split(), *options.split())), len(operands.split())


def _parameter(word: str) -> tuple[str, object]:
    name, equals, default = word.partition("=")
    return name, ast.literal_eval(default) if equals else ...


def flops(op: str, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    """Floating-point operations of one call on tensors of these shapes; views compute nothing."""
    found = row(op)
    if found.view or not outputs:
        return 0
    if callable(found.flops) and len(inputs) > 1:
        return found.flops(inputs, outputs)
    largest = max(math.prod(shape) for shape in (*inputs, *outputs))
    return largest if callable(found.flops) else found.flops * largest
