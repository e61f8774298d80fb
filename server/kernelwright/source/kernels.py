"""The Kernels of a file: its pieces' outlines, linked by name."""

from kernelwright.source.document import Document
from kernelwright.source.imports import aliases_of
from kernelwright.source.linked import File, Part
from kernelwright.source.outline import outline
from kernelwright.source.torch_kernels import torch_functions, torch_modules
from kernelwright.source.triton_kernels import triton_kernels
from kernelwright.source.workload.find import lines_by_entry
from kernelwright.values import Kernel


def find_kernels(document: Document) -> tuple[Kernel, ...]:
    """Every optimisable unit of a file, in order: Triton kernels, nn.Module classes, functions with tensor maths.

    Pure, and quick after a small change: only the changed top-level definition is analysed again. Never raises for
    code that does not parse.
    """
    aliases = aliases_of(document)
    parts = [Part(piece.line, outline(piece.source, aliases)) for piece in document.pieces]
    file = File.of(parts, frozenset(lines_by_entry(document.text)))
    found = [*triton_kernels(file), *torch_modules(file), *torch_functions(file)]
    return tuple(sorted(found, key=lambda kernel: kernel.start_line))
