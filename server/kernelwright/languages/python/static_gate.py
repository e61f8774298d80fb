"""What code from outside may use, looked at before anything of it runs.

It keeps honest authors from mistakes, and spares runs that can only be refused. What it misses meets the sandbox and the gate.
Names that the file uses already are left alone: the edit brings nothing new with them.
"""

import ast
from collections.abc import Iterator

from kernelwright.source.imports import Aliases, aliases_in
from kernelwright.values import Refusal, encoded

ALLOWED_MODULES = (
    *("__future__", "collections", "cutlass", "dataclasses", "enum", "functools", "itertools", "math", "numbers"),
    *("operator", "torch", "triton", "typing"),
)

_BUILTINS = frozenset(
    {
        *(
            "breakpoint",
            "compile",
            "delattr",
            "dir",
            "eval",
            "exec",
            "exit",
            "getattr",
            "globals",
            "help",
            "id",
            "input",
        ),
        *("locals", "memoryview", "open", "print", "quit", "setattr", "vars", "BaseException", "Exception"),
    }
)
"""Of Python's own functions those that reach beyond the arguments of a kernel, or hide what went wrong."""

# What begins with one of these is refused, for the reason beside it.
_REFUSED = (
    ("torch.backends.", "changes settings of the whole process"),
    ("torch.set_", "changes settings of the whole process"),
    ("torch.use_deterministic", "changes settings of the whole process"),
    ("torch._dynamo.config", "changes settings of the whole process"),
    ("torch._inductor.config", "changes settings of the whole process"),
    ("torch.manual_seed", "changes the random numbers of the caller"),
    ("torch.seed", "changes the random numbers of the caller"),
    ("torch.random.", "changes the random numbers of the caller"),
    ("torch.cuda.manual_seed", "changes the random numbers of the caller"),
    ("torch.cuda.Event", "touches timers"),
    ("torch.cuda.synchronize", "touches timers"),
    ("torch.utils.benchmark", "touches timers"),
    ("torch.profiler", "touches timers"),
    ("torch.autograd.profiler", "touches timers"),
    ("triton.testing", "touches timers"),
    ("torch.cuda.Stream", "leaves the caller's stream"),
    ("torch.cuda.ExternalStream", "leaves the caller's stream"),
    ("torch.cuda.stream", "leaves the caller's stream"),
    ("torch.cuda.set_stream", "leaves the caller's stream"),
    ("torch.cuda.set_device", "leaves the caller's device"),
    ("torch.load", "reads files"),
    ("torch.save", "writes files"),
    ("torch.from_file", "reads files"),
    ("torch.hub", "uses the network"),
    ("torch.distributed", "uses the network"),
    ("torch.multiprocessing", "starts processes"),
    ("torch.utils.cpp_extension", "starts processes"),
    ("torch.utils.data", "starts processes"),
    ("torch.ops.load_library", "loads other code"),
    ("torch.classes.", "loads other code"),
    ("torch._C", "reaches into torch"),
    ("torch.overrides", "reaches into torch"),
    ("torch.utils._", "reaches into torch"),
    ("torch.fx", "reaches into torch"),
    ("operator.attrgetter", "reaches into Python's objects"),
    ("operator.methodcaller", "reaches into Python's objects"),
    ("triton.compiler", "reaches into Triton"),
    ("cutlass.cute.testing", "touches timers"),
    ("cutlass.testing", "touches timers"),
    ("cutlass.torch.default_stream", "leaves the caller's stream"),
    ("cutlass.base_dsl", "reaches into CuTe DSL"),
    ("cutlass.cutlass_dsl", "reaches into CuTe DSL"),
    ("cutlass._mlir", "reaches into CuTe DSL"),
    ("triton.knobs", "changes settings of the whole process"),
)

_SPECIAL_METHODS = frozenset({"__init__", "__call__", "__name__", "__doc__"})


def forbidden(before: str, after: str) -> Refusal | None:
    """Why `after` may not be run: the first thing that it uses, and `before` does not, that is not allowed."""
    known = {what for what, _ in _used(before)}
    return next((Refusal(reason) for what, reason in _used(after) if what not in known), None)


def _used(text: str) -> Iterator[tuple[str, str]]:
    """What a text that parses uses of what is not allowed, with the sentence that refuses it."""
    tree = ast.parse(text.removeprefix("\ufeff"))
    aliases = aliases_in(encoded(text))
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {arg.arg for arg in ast.walk(tree) if isinstance(arg, ast.arg)}
    own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (_of_module(alias.name) for alias in names if not _is_allowed(alias.name))
            case ast.ImportFrom(module=module, level=level, names=names):
                if level or not _is_allowed(module or ""):
                    yield _of_module("." * level + (module or ""))
                yield from (found for alias in names for found in _of_name(f"{module}.{alias.name}"))
            case ast.Global(names=names):
                yield f"global {names[0]}", f"`global {names[0]}` keeps state between calls, which is not allowed."
            case ast.Name(id=name) if name not in own and name not in aliases.names:
                if name in _BUILTINS or name.startswith("__"):
                    yield name, f"`{name}` is not allowed in a kernel's code."
            case ast.Attribute():
                yield from _of_attribute(node, aliases)


def _of_attribute(node: ast.Attribute, aliases: Aliases) -> Iterator[tuple[str, str]]:
    name = aliases.canonical(ast.unparse(node))
    if node.attr.startswith("__") and node.attr not in _SPECIAL_METHODS:
        yield node.attr, f"`{node.attr}` reaches into Python's objects, which is not allowed."
    if name is None:
        return
    yield from _of_name(name)
    if not isinstance(node.ctx, ast.Load):
        yield f"{name} =", f"`{ast.unparse(node)}` belongs to a library and may not be replaced."


def _of_name(name: str) -> Iterator[tuple[str, str]]:
    why = next((why for start, why in _REFUSED if name.startswith(start)), None)
    if why is not None:
        yield name, f"`{name}` {why}, which is not allowed."


def _of_module(name: str) -> tuple[str, str]:
    return name, f"The module `{name}` is not allowed in a kernel's code; allowed are {', '.join(ALLOWED_MODULES)}."


def _is_allowed(module: str) -> bool:
    return module.split(".")[0] in ALLOWED_MODULES
