"""PyTorch modules and functions as Kernels."""

import functools

from kernelwright.source.definitions import Class
from kernelwright.source.linked import Entry, File, Placed, function_entry, is_support, kernel_of, shifted
from kernelwright.values import Facts, Kernel, Language


def torch_modules(file: File) -> list[Kernel]:
    forwards = {p.function.owner: p for p in file.functions if p.function.owner and p.function.name == "forward"}
    modules = file.modules & file.with_forward
    return [_module(line, found, forwards.get(name)) for name, (line, found) in file.classes.items() if name in modules]


@functools.lru_cache(maxsize=512)
def _module(line: int, found: Class, forward: Placed | None) -> Kernel:
    facts = shifted(forward.function.facts, forward.line) if forward else Facts()
    entry = Entry(found.name, line + found.start_line, line + found.end_line)
    return kernel_of(Language.TORCH, line, found, entry=entry, facts=facts, is_module=True)


def torch_functions(file: File, launchers: frozenset[str]) -> list[Kernel]:
    """The functions that a workload line calls, and those with tensor maths; a Triton kernel's `launchers` are its own."""
    kernels = []
    for placed in file.functions:
        function = placed.function
        if function.owner or function.outer or function.uses_triton or function.name in launchers:
            continue
        computes = function.tensor_maths and function.parameters and not function.launches and not is_support(function)
        if function.name in file.called or computes:
            kernels.append(_function(placed))
    return kernels


@functools.lru_cache(maxsize=512)
def _function(placed: Placed) -> Kernel:
    facts = shifted(placed.function.facts, placed.line)
    return kernel_of(Language.TORCH, placed.line, placed.function, entry=function_entry(placed), facts=facts)
