"""Tells the origin of a kernel by its name, from what the user's texts define and what was launched."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from kernelwright.proof.worker.languages.support import Known
from kernelwright.values import Origin

# Inductor's names: a kind (pointwise, reduction, persistent reduction, template, …), then what was fused.
_INDUCTOR = re.compile(
    r"triton_(?:poi|red|per|spl|for|tem|unk|mix|fused|mm|bmm|addmm|baddbmm|convolution\w*|flex_\w+)(?:_|$)"
    r"|(?:graph_\d+_)?cpp_fused"
    r"|## Call CompiledFxGraph|Torch-Compiled Region|TorchDynamo|AOTDispatcher|Pregraph bytecode"
)
# CuTe DSL's names: the function's, then the types of what it is given.
_CUTE = "kernel_cutlass_"
# Headers that a user's CUDA text includes bring kernels of these namespaces.
_LIBRARIES = frozenset({"at", "c10", "caffe2", "cub", "cudnn", "cutlass", "cutlass3x", "thrust", "torch"})


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
    own |= any(base.startswith(f"{_CUTE}{kernel}_") for kernel in known.cute)
    return Origin.HAND_WRITTEN if own else Origin.LIBRARY
