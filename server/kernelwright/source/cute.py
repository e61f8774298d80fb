"""Finds the code in NVIDIA's CuTe DSL that a function of a Python text leads to. Pure."""

import ast
import functools
from dataclasses import dataclass

from kernelwright.source.imports import aliases_in
from kernelwright.values import encoded

KERNEL, JIT = "cutlass.cute.kernel", "cutlass.cute.jit"


@dataclass(frozen=True)
class CuteCode:
    """`kernels` that a function leads to, and its `helpers`: functions at the top level that nothing else uses."""

    kernels: tuple[str, ...] = ()
    helpers: frozenset[str] = frozenset()


@functools.lru_cache(maxsize=16)
def cute_code(text: str, entry: str | None) -> CuteCode:
    """The code of the function or class `entry`; nothing where it leads to no kernel, or where the text does not parse."""
    if entry is None or "cutlass" not in text:
        return CuteCode()
    tree = _parsed(text)
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    reached = _reached({entry} & defined.keys(), defined)
    aliases = aliases_in(encoded(text))
    decorators = {
        name: [ast.unparse(one) for one in defined[name].decorator_list] for name in defined if name in reached
    }
    kernels = tuple(name for name, found in decorators.items() if KERNEL in map(aliases.canonical, found))
    if not kernels:
        return CuteCode()
    others = [node for node in tree.body if getattr(node, "name", None) not in reached]
    elsewhere = _reached({name for node in others for name in _names(node)} & defined.keys(), defined)
    return CuteCode(kernels, frozenset(reached - elsewhere - {entry}))


def _reached(first: set[str], defined: dict[str, ast.FunctionDef | ast.ClassDef]) -> set[str]:
    """The definitions that these lead to, by the names that each mentions."""
    reached, waiting = set[str](), [*first]
    while waiting:
        name = waiting.pop()
        if name in defined and name not in reached:
            reached.add(name)
            waiting += _names(defined[name])
    return reached


def _names(node: ast.stmt) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, RecursionError, ValueError):
        return ast.Module([], [])
