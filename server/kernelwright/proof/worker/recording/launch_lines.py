"""Writes a launch of CUDA C++ as a workload line, with sizes by the whole numbers that the kernel is given."""

import itertools
import keyword
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.proof.worker.recording.written import Unsayable, generator_of
from kernelwright.source.workload.evaluate import STRUCTURE
from kernelwright.source.workload.generators import GENERATORS

_LEAST = 16  # smaller numbers are no sizes
_FACTORS = 3  # of a size, at most
_WORK = (1, 2, 4, 8)  # elements of a thread
_TAKEN = {*GENERATORS, "out", "inout", "dim3", STRUCTURE}
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")


@dataclass(frozen=True)
class Memory:
    """What a pointer points to, from there to the end of its allocation; `written`: the kernel may write it."""

    tensor: torch.Tensor
    written: bool


Value = int | float | Memory | None | tuple[Any, ...] | dict[str, Any]
"""A number, a null pointer, memory, several numbers, or a structure's fields, which are values themselves."""


@dataclass(frozen=True)
class Launch:
    """One launch. `given` holds values by the names of the kernel's parameters."""

    kernel: str  # with its template arguments
    grid: Sequence[int]
    block: Sequence[int]
    shared: int
    given: Mapping[str, Value]


def line_of(launch: Launch) -> str:
    """The line of a launch. Raises Unsayable."""
    named, count = list(_leaves(launch.given)), Counter(name.rpartition(".")[2] for name, _ in _leaves(launch.given))
    sizes = {
        name: value
        for name, value in ((path.rpartition(".")[2], value) for path, value in named)
        if type(value) is int and value >= _LEAST and count[name] == 1 and _is_usable(name)
    }
    _apart(launch.given)
    arguments = _arguments(launch.given, sizes)
    blocks = _places([_blocks(grid, block, sizes) for grid, block in zip(launch.grid, launch.block, strict=True)])
    config = [blocks, _places([str(size) for size in launch.block])]
    config += [str(launch.shared)] if launch.shared else []
    return f"{launch.kernel}<<<{', '.join(config)}>>>({arguments})"


def _arguments(given: Mapping[str, Value], sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={_argument(name, value, sizes)}" for name, value in given.items())


def _leaves(given: Mapping[str, Value], before: str = "") -> Iterator[tuple[str, Value]]:
    """The values with their names, those in structures by their paths."""
    for name, value in given.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _is_usable(name: str) -> bool:
    """Whether a name can stand for its number in other arguments."""
    return name not in _TAKEN and not keyword.iskeyword(name)


def _apart(given: Mapping[str, Value]) -> None:
    """Raises Unsayable where two pointers are into the same memory: a line gives each memory of its own."""
    spans = sorted(
        (value.tensor.data_ptr(), value.tensor.data_ptr() + value.tensor.nbytes, name)
        for name, value in _leaves(given)
        if isinstance(value, Memory)
    )
    for (_, end, one), (start, _, other) in itertools.pairwise(spans):
        if start < end:
            raise Unsayable(f"{one} shares memory with {other}")


def _argument(name: str, value: Value, sizes: Mapping[str, int]) -> str:
    if isinstance(value, dict):
        return f"struct({_arguments(value, sizes)})"
    if not isinstance(value, Memory):
        return repr(value)
    text = _generator(name, value)
    if not text.startswith("tensor("):
        text = _NUMBER.sub(lambda match: _size(int(match[0]), sizes) or match[0], text)
    return f"inout({text})" if value.written and not text.startswith("out(") else text


def _generator(name: str, memory: Memory) -> str:
    """What makes such contents. Programs fill in one number where any would do, so that floating-point ones are drawn."""
    tensor = memory.tensor
    if bool((tensor.view(torch.uint8) == 0xFF).all()):  # as the emulator hands memory out
        if not memory.written:
            raise Unsayable(f"{name} was never written")
        return _drawn("out", tensor)
    if tensor.is_floating_point() and tensor[0] != 0 and bool((tensor == tensor[0]).all()):
        return _drawn("rand" if tensor[0] > 0 else "randn", tensor)
    try:
        return generator_of(tensor)
    except Unsayable as unsayable:
        raise Unsayable(f"{name} {unsayable}") from None


def _drawn(generator: str, tensor: torch.Tensor) -> str:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return f"{generator}({tensor.numel()}{'' if dtype == 'float32' else f', dtype={dtype}'})"


def _size(number: int, sizes: Mapping[str, int]) -> str | None:
    """A number as one of the sizes, or a product of some; None where it is neither."""
    if number < _LEAST:
        return None
    return next((text for text, value in _products(sizes) if value == number), None)


def _products(sizes: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    for count in range(1, _FACTORS + 1):
        for names in itertools.combinations_with_replacement(sizes, count):
            value = 1
            for name in names:
                value *= sizes[name]
            yield " * ".join(names), value


def _blocks(grid: int, block: int, sizes: Mapping[str, int]) -> str:
    """How many blocks there are: as many as a size asks for where that is what was launched."""
    if grid == 1:
        return "1"
    exact = next((name for name, value in sizes.items() if value == grid), None)
    if exact is not None:
        return exact
    for text, value in _products(sizes):
        for work in _WORK:
            if block * work > 1 and -(-value // (block * work)) == grid:
                return f"({text} + {block * work - 1}) / {block * work}"
    return _size(grid, sizes) or str(grid)


def _places(sizes: Sequence[str]) -> str:
    """One number, or `dim3(x, y)`, without ones at the end."""
    used = list(sizes)
    while len(used) > 1 and used[-1] == "1":
        used.pop()
    return used[0] if len(used) == 1 else f"dim3({', '.join(used)})"
