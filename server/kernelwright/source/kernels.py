"""The Kernels of a file: its pieces' outlines, linked by name."""

from kernelwright.source.connected import connected
from kernelwright.source.document import Document
from kernelwright.source.imports import aliases_of
from kernelwright.source.linked import File, Part
from kernelwright.source.outline import outlines
from kernelwright.source.pieces import around
from kernelwright.source.torch_kernels import torch_functions, torch_modules
from kernelwright.source.triton_kernels import triton_kernels
from kernelwright.source.workload.find import lines_by_entry
from kernelwright.values import Kernel


def find_kernels(document: Document, lines: range | None = None) -> tuple[Kernel, ...]:
    """Every optimisable unit of a file, in order: Triton kernels, nn.Module classes, functions with tensor maths
    and functions that a workload line calls.

    With `lines` (from 0) those that stand on them or are called from there, as they are in the whole file, and some
    more: right after typing sooner known than all. Pure, and quick after a small change: only the changed top-level
    definition is analysed again. Never raises for code that does not parse.
    """
    pieces = document.pieces
    found = outlines(pieces, aliases_of(document))
    near = range(len(pieces)) if lines is None else connected(found, around(pieces, lines))
    parts = [Part(pieces.lines[i], found[i]) for i in near]
    file = File.of(parts, frozenset(lines_by_entry(document.text)))
    triton = triton_kernels(file)
    launchers = frozenset(kernel.entry for kernel in triton if kernel.entry is not None)
    kernels = [*triton, *torch_modules(file), *torch_functions(file, launchers)]
    return tuple(sorted(kernels, key=lambda kernel: kernel.start_line))
