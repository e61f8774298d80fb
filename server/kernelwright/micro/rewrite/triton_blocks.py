"""Which constexprs of a Triton kernel are block sizes, and what follows them."""

import ast
import functools

from kernelwright.micro.rewrite.triton_source import Fragment
from kernelwright.source.trees import walk


def is_autotuned(fragment: Fragment) -> bool:
    assert isinstance(fragment.node, ast.FunctionDef)
    return any(fragment.called(decorator) == "triton.autotune" for decorator in fragment.node.decorator_list)


@functools.lru_cache(maxsize=16)
def ranged(fragment: Fragment) -> frozenset[str]:
    """Names that are the length of a tl.arange: what makes a constexpr a block size."""
    return frozenset(
        call.args[1].id
        for name, call in fragment.calls
        if name == "triton.language.arange" and len(call.args) == 2 and isinstance(call.args[1], ast.Name)
    )


@functools.lru_cache(maxsize=16)
def stepped(fragment: Fragment) -> frozenset[str]:
    """Names that a loop advances by: the step of a range, or the divisor of a cdiv that bounds one."""
    found: set[str] = set()
    for node in fragment.nodes:
        if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
            continue
        bounds = node.iter.args
        if len(bounds) == 3 and isinstance(bounds[2], ast.Name):
            found.add(bounds[2].id)
        for bound in bounds:
            if fragment.called(bound) in ("triton.language.cdiv", "triton.cdiv"):
                assert isinstance(bound, ast.Call)
                found |= {n.id for n in walk(bound.args[-1]) if isinstance(n, ast.Name)}
    return frozenset(found)
