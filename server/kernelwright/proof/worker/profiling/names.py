"""Tells the origin of a kernel by its name, from what the user's texts define and what was launched.

Every pattern takes a time linear in the text: repetitions are bounded, or each character can be matched in one way only.
"""

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kernelwright.proof.worker.texts import parsed
from kernelwright.values import Origin

# Inductor's names: a kind (pointwise, reduction, persistent reduction, template, …), then what was fused.
_INDUCTOR = re.compile(
    r"triton_(?:poi|red|per|spl|for|tem|unk|mix|fused|mm|bmm|addmm|baddbmm|convolution\w*|flex_\w+)(?:_|$)"
    r"|(?:graph_\d+_)?cpp_fused"
    r"|## Call CompiledFxGraph|Torch-Compiled Region|TorchDynamo|AOTDispatcher|Pregraph bytecode"
)
# Attributes and specifiers may stand on either side of `void`.
_ATTRIBUTE = r"(?:void|static|inline|__[a-z_]{1,40}__(?:\s{0,99}\((?:[^()]|\([^()]{0,99}\)){0,99}\))?)"
_GLOBAL = re.compile(
    rf"__global__(?:\s{{1,99}}{_ATTRIBUTE}){{0,9}}\s{{1,99}}(?!__)(\w{{1,255}})\s{{0,99}}(?:<[^(){{}};]{{0,999}}>)?\s{{0,99}}\("
)
_FILE = re.compile(r"(?<![\w./-])[\w./-]+\.cuh?\b")
# Headers that a user's CUDA text includes bring kernels of these namespaces.
_LIBRARIES = frozenset({"at", "c10", "caffe2", "cub", "cudnn", "cutlass", "cutlass3x", "thrust", "torch"})


@dataclass(frozen=True)
class Known:
    """Names of the kernels that texts define."""

    triton: frozenset[str] = frozenset()
    cuda: frozenset[str] = frozenset()


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
    return Known(triton, frozenset(name for text in given for name in _GLOBAL.findall(text)))


def cuda_files(text: str) -> tuple[str, ...]:
    """The CUDA files that a text names, in order: `load("mine", ["mine.cu"])` compiles them."""
    return tuple(dict.fromkeys(_FILE.findall(text)))


def origin_of(name: str, known: Known, launched: Mapping[str, Origin] = MappingProxyType({})) -> Origin:
    """The origin of a kernel, an operator, a copy or a fill, by its demangled name.

    What Triton was seen to launch (`launched`) decides first. A function of a library's namespace is never the user's,
    whatever the user's text defines; every name that nothing explains is a library's.
    """
    if name in launched:
        return launched[name]
    if _INDUCTOR.match(name):
        return Origin.COMPILED
    # As in "void ns::f<float>(float const*)".
    bare = name.replace("(anonymous namespace)", "{anonymous}").removeprefix("void ")
    *scope, base = re.split(r"[<(]", bare, maxsplit=1)[0].strip().split("::")
    own = name in known.triton or (base in known.cuda and not (scope and scope[0] in _LIBRARIES))
    return Origin.HAND_WRITTEN if own else Origin.LIBRARY


def _is_jit(node: ast.expr) -> bool:
    """`jit`, `triton.jit` or a call of it with options; not `torch.jit.script`."""
    match node.func if isinstance(node, ast.Call) else node:
        case ast.Name(id="jit"):
            return True
        case ast.Attribute(value=ast.Name(id=owner), attr="jit"):
            return owner not in ("torch", "jax", "numba", "cuda")
    return False
