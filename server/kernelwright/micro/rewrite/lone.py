"""A function of PyTorch that is one pointwise operation: there is nothing to look for, which its text says without a graph."""

import ast
import functools

from kernelwright.ops import Kind, row
from kernelwright.source.imports import aliases_in
from kernelwright.values import Kernel, Refusal, encoded


def alone(text: str, kernel: Kernel) -> Refusal | None:
    """Why nothing can be gained by fusing or reordering; None where that cannot be told from the text."""
    if kernel.is_module or kernel.entry is None:
        return None
    definition = "\n".join(text.split("\n")[kernel.start_line : kernel.end_line])
    called = _only_call(definition)
    if called is None:
        return None
    is_method = called.startswith(".")
    meaning = called if is_method else aliases_in(encoded(text)).canonical(called) or ""
    name = meaning.rpartition(".")[2]
    if not (is_method or meaning.startswith("torch.")) or row(name).kind is not Kind.POINTWISE:
        return None
    return Refusal(f"Eager mode runs {name} as one kernel already.", kernel.start_line)


@functools.lru_cache(maxsize=64)
def _only_call(definition: str) -> str | None:
    """The name of the call that a function returns and that is all it does, ".relu" for a method of its parameter."""
    try:
        (function,) = ast.parse(definition).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return None
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    match body:
        case [ast.Return(ast.Call(func=called, args=args, keywords=keywords))]:
            given = (*args, *(keyword.value for keyword in keywords))
            if not all(isinstance(one, ast.Name | ast.Constant) for one in given):
                return None
            own = {one.arg for one in (*function.args.posonlyargs, *function.args.args)}
            match called:
                case ast.Attribute(value=ast.Name(id=name), attr=method) if name in own:
                    return f".{method}"
                case ast.Name() | ast.Attribute():
                    return ast.unparse(called)
    return None
