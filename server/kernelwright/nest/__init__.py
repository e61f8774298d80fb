"""What a region computes, apart from how: axes, loads by index expression, folds over monoids, one store. Pure."""

from kernelwright.nest.form import (
    Axis,
    Contract,
    Expr,
    Extent,
    Fold,
    Held,
    Inside,
    Let,
    Load,
    Nest,
    Stored,
    Tensor,
    reads,
)
from kernelwright.nest.index import Index

__all__ = [
    "Axis",
    "Contract",
    "Expr",
    "Extent",
    "Fold",
    "Held",
    "Index",
    "Inside",
    "Let",
    "Load",
    "Nest",
    "Stored",
    "Tensor",
    "reads",
]
