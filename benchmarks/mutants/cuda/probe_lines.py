"""Calls for the probe of a rewrite: its workload line with small and odd numbers in place of each whole number."""

import re

from kernelwright.source.workload import evaluate

_SIZES = ((33, 17, 31), (127, 34, 3), (1, 1, 1), (64, 96, 32), (5, 131, 20), (1009, 1, 13), (5003, 3, 2))


def lines_of(line: str) -> tuple[str, ...]:
    """The line once for each row of sizes; numbers for which nothing is known keep theirs."""
    names = [name for name, value in evaluate(line).kwargs.items() if type(value) is int]
    return tuple(dict.fromkeys(_with_sizes(line, names, sizes) for sizes in _SIZES))


def _with_sizes(line: str, names: list[str], sizes: tuple[int, ...]) -> str:
    for name, size in zip(names, sizes, strict=False):
        line = re.sub(rf"\b{name}=[^,()]+(?=[,)])", f"{name}={size}", line)
    return line
