"""The common functions of CUDA's libdevice on the CPU: Triton's interpreter has stubs in their place, which return None."""

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
import triton.language.extra.libdevice as dispatch
from triton.runtime.interpreter import TensorHandle, _get_np_dtype

_OF_NUMPY = (
    "tanh sinh cosh sin cos tan exp exp2 expm1 log log2 log10 log1p sqrt floor ceil trunc rint abs fmod hypot copysign "
    "cbrt ldexp"
)
_RENAMED = {  # libdevice's names, numpy's
    **{name: name.replace("a", "arc", 1) for name in ("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh")},
    **{f"fast_{name}f": name for name in ("exp", "log", "sin", "cos", "tan", "tanh")},
    **dict.fromkeys(("pow", "fast_powf"), "power"),
    **dict.fromkeys(("div_rn", "fast_dividef"), "divide"),
    "sqrt_rn": "sqrt",
    "nearbyint": "rint",
    "tanhf": "tanh",
}
_OF_MATH = {"erf": math.erf, "erfc": math.erfc, "lgamma": math.lgamma, "tgamma": math.gamma}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in _OF_NUMPY.split()},
    **{name: getattr(np, theirs) for name, theirs in _RENAMED.items()},
    **{name: np.vectorize(function, otypes=[np.float64]) for name, function in _OF_MATH.items()},
    **dict.fromkeys(("rsqrt", "rsqrt_rn"), lambda x: 1 / np.sqrt(x)),
    **dict.fromkeys(("fma", "fma_rn"), lambda x, y, z: x * y + z),
    "exp10": lambda x: np.power(np.float64(10), x),
    "rcp_rn": lambda x: 1 / x,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}
_TESTS: dict[str, Callable[..., Any]] = {"isnan": np.isnan, "isinf": np.isinf, "finitef": np.isfinite}


def install() -> None:
    """Put the functions into the modules that user code imports them from."""
    modules = [dispatch]
    if "triton.language.extra.cuda" in sys.modules:
        modules.append(sys.modules["triton.language.extra.cuda"].libdevice)
    for module in modules:
        for name, function in (FUNCTIONS | _TESTS).items():
            if hasattr(module, name):
                setattr(module, name, _on_tensors(function, name, truth=name in _TESTS))


def _on_tensors(function: Callable[..., Any], name: str, *, truth: bool) -> Callable[..., Any]:
    def call(*arguments: Any, _semantic: Any = None) -> Any:
        tensors = [argument for argument in arguments if isinstance(argument, tl.tensor)]
        kind = tl.int32 if truth else tensors[0].dtype
        values = [argument.handle.data if isinstance(argument, tl.tensor) else argument for argument in arguments]
        with np.errstate(all="ignore"):
            result = np.asarray(function(*values)).astype(_get_np_dtype(kind))
        shape = tl.block_type(kind, list(result.shape)) if any(t.type.is_block() for t in tensors) else kind
        return tl.tensor(TensorHandle(result, kind), shape)

    call.__name__ = name
    return call
