"""Finds the kernels that a Python text defines, in Triton or CuTe DSL, and those of the CUDA texts in it.

Every pattern takes a time linear in the text: repetitions are bounded, or each character can be matched in one way only.
"""

import ast
import re
from collections.abc import Iterable

from kernelwright.proof.worker.languages.support import Known
from kernelwright.proof.worker.texts import parsed

# Attributes and specifiers may stand on either side of `void`.
_ATTRIBUTE = r"(?:void|static|inline|__[a-z_]{1,40}__(?:\s{0,99}\((?:[^()]|\([^()]{0,99}\)){0,99}\))?)"
_GLOBAL = re.compile(
    rf"__global__(?:\s{{1,99}}{_ATTRIBUTE}){{0,9}}\s{{1,99}}(?!__)(\w{{1,255}})\s{{0,99}}(?:<[^(){{}};]{{0,999}}>)?\s{{0,99}}\("
)
_FILE = re.compile(r"(?<![\w./-])[\w./-]+\.cuh?\b")


def triton_kernels(text: str) -> dict[str, str]:
    """The source of every Triton kernel that a text defines, by name; none where it does not parse."""
    found: dict[str, str] = {}
    for node in ast.walk(parsed(text if "jit" in text else "")):
        match node:
            case ast.FunctionDef(name=name) if any(map(_is_jit, node.decorator_list)):
                found[name] = ast.unparse(node)
            case ast.Call(func=func, args=[ast.Name(id=name), *_]) if _is_jit(func):
                found.setdefault(name, "")
    return found


def cute_kernels(text: str) -> dict[str, str]:
    """The source of every kernel in NVIDIA's CuTe DSL that a text defines, by name; none where it does not parse."""
    return {
        node.name: ast.unparse(node)
        for node in ast.walk(parsed(text if "cutlass" in text else ""))
        if isinstance(node, ast.FunctionDef) and any(map(_is_cute, node.decorator_list))
    }


def cuda_kernels(text: str) -> dict[str, str]:
    """The string that defines each CUDA kernel in a Python text, by name; "" for one that is in no string."""
    found = dict.fromkeys(_GLOBAL.findall(text), "")
    for node in ast.walk(parsed(text if found else "")):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= dict.fromkeys(_GLOBAL.findall(node.value), node.value)
    return found


def defined_in(texts: Iterable[str]) -> Known:
    """The kernels that Python texts, or CUDA texts in them, define."""
    given = tuple(texts)
    triton = frozenset(name for text in given for name in triton_kernels(text))
    cute = frozenset(name for text in given for name in cute_kernels(text))
    return Known(triton, frozenset(name for text in given for name in _GLOBAL.findall(text)), cute)


def cuda_files(text: str) -> tuple[str, ...]:
    """The CUDA files that a text names, in order: `load("mine", ["mine.cu"])` compiles them."""
    return tuple(dict.fromkeys(_FILE.findall(text)))


def _is_jit(node: ast.expr) -> bool:
    """`jit`, `triton.jit` or a call of it with options; not `torch.jit.script`."""
    match node.func if isinstance(node, ast.Call) else node:
        case ast.Name(id="jit"):
            return True
        case ast.Attribute(value=ast.Name(id=owner), attr="jit"):
            return owner not in ("torch", "jax", "numba", "cuda", "cute")
    return False


def _is_cute(node: ast.expr) -> bool:
    """`cute.kernel`, or a call of it with options."""
    match node.func if isinstance(node, ast.Call) else node:
        case ast.Attribute(value=ast.Name(id="cute") | ast.Attribute(attr="cute"), attr="kernel"):
            return True
    return False
