"""What the bodies of functions tell of parameters, and which sizes of theirs have to be equal."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

Axis = tuple[str, int]  # of a parameter; from the end where negative
Term = Axis | str | int


@dataclass
class Told:
    """What is said of one parameter. `rank` 0 and `least` 0: nothing; `ranks` are those that are asked for."""

    rank: int = 0
    least: int = 0
    ranks: list[int] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    options: list[str | int | bool] = field(default_factory=list)
    is_tensor: bool = False
    is_number: bool = False  # a kernel gets it, and neither reads nor writes there
    is_index: bool = False  # what a kernel loads from it leads to addresses, or is a number of steps
    is_place: bool = False  # among these, addresses that it writes to
    is_read: bool = False
    is_written: bool = False
    is_product: bool = False  # takes part in a matrix product
    is_sequence: bool = False  # its length is asked for, or it is gone through
    is_shape: bool = False  # among these, sizes that are multiplied
    items: int = 0  # it is taken apart into so many
    is_bits: bool = False  # what a kernel loads from it is shifted, or masked by a number


@dataclass
class Evidence:
    """What is said of the parameters by name, and of sizes: which are equal, products of others, or have few values.

    `is_documented`: some of it by the docstring alone, which may be out of date.
    """

    of: dict[str, Told]
    defaults: Mapping[str, int] = field(default_factory=dict)  # whole numbers
    equal: list[tuple[Term, Term]] = field(default_factory=list)
    products: list[tuple[Term, Term, Term]] = field(default_factory=list)  # the first is that of the others
    same_shape: list[tuple[str, str]] = field(default_factory=list)
    same_rank: list[tuple[str, str]] = field(default_factory=list)
    values: list[tuple[Term, tuple[int, ...]]] = field(default_factory=list)
    is_documented: bool = False


class Bodies(Protocol):
    """Reads the bodies that a body passes parameters on to. `numbers` tell bodies apart."""

    numbers: Iterator[int]

    def read(self, tree: ast.FunctionDef | ast.AsyncFunctionDef, bound: Mapping[str, str], depth: int) -> None: ...
