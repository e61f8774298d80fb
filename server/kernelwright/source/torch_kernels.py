"""PyTorch modules and functions as Kernels."""

from kernelwright.source.definitions import Function
from kernelwright.source.linked import Entry, File, facts_of, function_entry, is_support, kernel_of
from kernelwright.values import Facts, Kernel, Language


def torch_modules(file: File, version: str) -> list[Kernel]:
    forwards = {p.function.owner: p for p in file.functions if p.function.owner and p.function.name == "forward"}
    modules = file.modules & file.with_forward
    kernels = []
    for name, (line, found) in file.classes.items():
        if name not in modules:
            continue
        forward = forwards.get(name)
        facts = facts_of(forward) if forward else Facts()
        entry = Entry(name, line + found.start_line, line + found.end_line)
        kernels.append(kernel_of(Language.TORCH, line, found, version, entry=entry, facts=facts, is_module=True))
    return kernels


def torch_functions(file: File, version: str) -> list[Kernel]:
    kernels = []
    for placed in file.functions:
        function = placed.function
        if function.owner or function.outer or function.uses_triton or is_support(function) or not function.parameters:
            continue
        # A function that a person's workload calls stays a kernel when its maths has moved into a launcher.
        moved = function.name in file.called and not function.launches and _calls_launcher(file, function)
        if (function.tensor_maths and not function.launches) or moved:
            facts = facts_of(placed)
            entry = function_entry(placed)
            kernels.append(kernel_of(Language.TORCH, placed.line, function, version, entry=entry, facts=facts))
    return kernels


def _calls_launcher(file: File, function: Function) -> bool:
    return any(p.function.launches and p.function.name in function.mentions for p in file.functions)
