"""How a Kernel is called: the cases of a workload, still as expressions, and the tensors they ask for."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class WorkloadSource(StrEnum):
    KERNELBENCH = "get_inputs"
    LINES = "workload lines"
    JOURNAL = "lines in the journal"
    PROGRAM = "what main prints"


@dataclass(frozen=True)
class Case:
    """One workload line: `line` (from 0) in the file, `column` where the call begins, `text` the call as written."""

    line: int
    column: int
    text: str


KeptLines = tuple[tuple[str, tuple[str, ...]], ...]
"""Entries, each with the calls that the journal keeps of it, the performance case first."""


@dataclass(frozen=True)
class Workload:
    """The performance case is the first one. A KernelBench workload has no cases: its functions make the inputs.

    Of a program every case is a command line, and what it prints is compared. `programs`: such cases beside those of the entry.
    """

    source: WorkloadSource
    entry: str
    cases: tuple[Case, ...] = ()
    programs: tuple[Case, ...] = ()

    @property
    def described(self) -> str:
        """For a person: what is called for timing."""
        return self.cases[0].text if self.cases else f"{self.entry}(*get_init_inputs())(*get_inputs())"

    @property
    def told(self) -> str:
        """As `described`, and that the line stands in the journal where it does."""
        return f"{self.described} ({self.source})" if self.source is WorkloadSource.JOURNAL else self.described


@dataclass(frozen=True)
class TensorSpec:
    """A tensor that a generator asks for. `role` is "in", "out" (contents poisoned) or "inout"."""

    generator: (
        str  # "randn", "rand", "randint", "randperm", "zeros", "ones", "full", "arange", "offsets", "tensor", "empty"
    )
    shape: tuple[int, ...]
    dtype: str = "float32"
    # randint: (low, high); full: (value,); arange: (start, stop, step); offsets: (last,); tensor: its elements
    parameters: tuple[float | int, ...] = ()
    layout: str = "contiguous"  # "contiguous", "channels_last", "transposed"
    role: str = "in"
    requires_grad: bool = False
    strides: tuple[int, ...] = ()  # in elements, where the layout does not say it; 0 where a dimension is expanded


@dataclass(frozen=True)
class DType:
    """A dtype given as an argument."""

    name: str


@dataclass(frozen=True)
class Made:
    """An object that a class of the file is to make of these arguments, such as a configuration; no tensors."""

    name: str
    args: tuple[object, ...]
    kwargs: Mapping[str, object]


@dataclass(frozen=True)
class Namespace:
    """Data by the names of attributes, as an object of Python's `types.SimpleNamespace` holds them; no tensors."""

    fields: Mapping[str, object]


@dataclass(frozen=True)
class Call:
    """An evaluated case. Leaves are TensorSpec, DType, Namespace or scalars; a structure is a dict of its fields. Constructors
    also take what is Made.

    `entry(*init_args)(*args)` for a module, `entry[grid](*args)` for a Triton kernel, `entry<<<grid, block, shared>>>(*args)`
    or `entry<template><<<…>>>(*args)` for one of CUDA, `entry.apply(*args)` for an autograd.Function, where `applied` is
    True, and else `entry(*args)`.
    """

    entry: str
    args: tuple[object, ...]
    kwargs: dict[str, object]
    init_args: tuple[object, ...] | None = None
    init_kwargs: dict[str, object] | None = None
    grid: tuple[int, ...] | None = None
    applied: bool = False
    block: tuple[int, ...] | None = None
    shared: int = 0
    template: str = ""

    @property
    def named(self) -> dict[str, object]:
        """The keyword arguments, and the fields of structures among all arguments by their own names."""
        fields: dict[str, object] = {}
        waiting = [*self.args, *self.kwargs.values()]
        while waiting:
            one = waiting.pop()
            if isinstance(one, dict):
                fields |= one
                waiting += one.values()
        return fields | self.kwargs
