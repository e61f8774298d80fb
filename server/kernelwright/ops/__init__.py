"""Torch operators, one row each: signature, kind, cost, words, and what they compute; pure, standard library only."""

from kernelwright.ops.row import Eager, Kind, Layout, Let, Meaning, Over, Row, Steps
from kernelwright.ops.spelling import KEYWORDS, canonical_name, torch_name
from kernelwright.ops.table import ROWS, flops, names, of_kind, parameters, row, signature

__all__ = [
    "KEYWORDS",
    "ROWS",
    "Eager",
    "Kind",
    "Layout",
    "Let",
    "Meaning",
    "Over",
    "Row",
    "Steps",
    "canonical_name",
    "flops",
    "names",
    "of_kind",
    "parameters",
    "row",
    "signature",
    "torch_name",
]
