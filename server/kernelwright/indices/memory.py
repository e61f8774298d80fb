"""The arrays of a kernel and what it does to them."""

from dataclasses import dataclass, field

from tree_sitter import Node

from kernelwright.indices.terms import Term


@dataclass(frozen=True)
class Array:
    """Memory behind a pointer parameter ("global") or a shared array ("shared"), as elements of `size` bytes.

    `extent` is its length in bytes, None where nothing says it.
    """

    name: str
    space: str
    size: int
    extent: int | None


@dataclass(frozen=True, eq=False)
class Access:
    """One access that a thread makes where `path` holds. `kind`: "load", "store", "update" for `+=` and `++`, "atomic".

    `offset` counts bytes from the beginning of the array, `size` is that of what is accessed, `phase` counts the barriers
    before it, and `value` says what a store writes.
    """

    node: Node
    array: Array
    kind: str
    offset: Term
    size: int
    path: tuple[Term, ...]
    phase: Term
    value: Term | None = None

    @property
    def is_known(self) -> bool:
        """Whether its place, and the conditions that it is made under, are modelled."""
        return self.offset.is_known and all(one.is_known for one in self.path)


@dataclass(frozen=True)
class Launched:
    """A kernel as one launch of a workload gives it to the threads.

    `values` are its scalars and template parameters, `types` those template parameters that are types, `extents` the bytes
    behind its pointers, `shared` the bytes of dynamic shared memory, None where that is not known. `tensors` are the names
    in the workload line of what is behind the pointers.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    values: dict[str, int]
    types: dict[str, str]
    extents: dict[str, int]
    shared: int | None
    tensors: dict[str, str] = field(default_factory=dict)


class TooMuch(Exception):
    """The kernel is larger than what is looked at, or written in a way that is not followed."""
