"""Where a kernel of a trace comes from: its name, held against what the user's texts define and what was launched."""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from kernelwright.values import Origin

# Inductor's names: a kind (pointwise, reduction, persistent reduction, template, …), then what was fused.
_INDUCTOR = re.compile(
    r"triton_(?:poi|red|per|spl|for|tem|unk|mix|fused|mm|bmm|addmm|baddbmm|convolution\w*|flex_\w+)(?:_|$)"
    r"|(?:graph_\d+_)?cpp_fused"
    r"|## Call CompiledFxGraph|Torch-Compiled Region|TorchDynamo|AOTDispatcher|Pregraph bytecode"
)
# Attributes and specifiers may stand on either side of `void`.
_ATTRIBUTE = r"(?:void|static|inline|__\w+__(?:\s*\((?:[^()]|\([^()]*\))*\))?)"
_GLOBAL = re.compile(rf"__global__(?:\s+{_ATTRIBUTE})*\s+(?!__)(\w+)\s*(?:<[^(){{}};]*>)?\s*\(")
_FILE = re.compile(r"[\w./-]+\.cuh?\b")
# Headers that a user's CUDA text includes bring kernels of these namespaces.
_LIBRARIES = frozenset({"at", "c10", "caffe2", "cub", "cudnn", "cutlass", "cutlass3x", "thrust", "torch"})


@dataclass(frozen=True)
class Known:
    """Names of kernels: those that texts define, and those that Triton launched from the user's files and from others."""

    triton: frozenset[str] = frozenset()
    cuda: frozenset[str] = frozenset()
    launched: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()


def defined_in(texts: Iterable[str]) -> Known:
    """The kernels that Python texts, or CUDA texts in them, define. A text that does not parse defines no Triton kernel."""
    triton: set[str] = set()
    cuda: set[str] = set()
    for text in texts:
        cuda.update(_GLOBAL.findall(text))
        triton.update(_triton_functions(text))
    return Known(frozenset(triton), frozenset(cuda))


def cuda_files(text: str) -> tuple[str, ...]:
    """The CUDA files that a text names, in order: `load("mine", ["mine.cu"])` compiles them."""
    return tuple(dict.fromkeys(_FILE.findall(text)))


def origin_of(name: str, known: Known) -> Origin:
    """The origin of a kernel, an operator, a copy or a fill, by its demangled name.

    What Triton was seen to launch decides first. A function of a library's namespace is never the user's, whatever the
    user's text defines; every name that nothing explains is a library's.
    """
    if name in known.launched:
        return Origin.HAND_WRITTEN
    if name in known.foreign:
        return Origin.LIBRARY
    if _INDUCTOR.match(name):
        return Origin.COMPILED
    if name in known.triton:
        return Origin.HAND_WRITTEN
    *scope, base = function_of(name).split("::")
    if base in known.cuda and not (scope and scope[0] in _LIBRARIES):
        return Origin.HAND_WRITTEN
    return Origin.LIBRARY


def function_of(name: str) -> str:
    """The qualified name of a demangled function: "void ns::f<float>(float const*)" is "ns::f"."""
    bare = name.replace("(anonymous namespace)", "{anonymous}").removeprefix("void ")
    return re.split(r"[<(]", bare, maxsplit=1)[0].strip()


def _triton_functions(text: str) -> Iterable[str]:
    if "jit" not in text:
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(_is_jit(decorator) for decorator in node.decorator_list):
            yield node.name
        elif isinstance(node, ast.Call) and _is_jit(node.func):
            yield from (argument.id for argument in node.args[:1] if isinstance(argument, ast.Name))


def _is_jit(node: ast.expr) -> bool:
    """`jit`, `triton.jit` or a call of it with options; not `torch.jit.script`."""
    if isinstance(node, ast.Call):
        node = node.func
    match node:
        case ast.Name(id="jit"):
            return True
        case ast.Attribute(value=ast.Name(id=owner), attr="jit"):
            return owner not in ("torch", "jax", "numba", "cuda")
        case _:
            return False
