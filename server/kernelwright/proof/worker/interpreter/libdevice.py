"""The common functions of CUDA's libdevice on the CPU: Triton's interpreter has stubs in their place, which return None."""

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])
_lgamma = np.vectorize(math.lgamma, otypes=[np.float64])
_tgamma = np.vectorize(math.gamma, otypes=[np.float64])

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("tanh", "sinh", "cosh", "sin", "cos", "tan", "exp", "exp2", "expm1")},
    **{name: getattr(np, name) for name in ("log", "log2", "log10", "log1p", "sqrt", "floor", "ceil", "trunc", "rint")},
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "abs": np.abs,
    "pow": np.power,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "copysign": np.copysign,
    "cbrt": np.cbrt,
    "erf": _erf,
    "erfc": _erfc,
    "lgamma": _lgamma,
    "tgamma": _tgamma,
    "fast_expf": np.exp,
    "fast_logf": np.log,
    "fast_sinf": np.sin,
    "fast_cosf": np.cos,
    "fast_tanf": np.tan,
    "fast_powf": np.power,
    "div_rn": np.divide,
    "fast_dividef": np.divide,
    "sqrt_rn": np.sqrt,
    "nearbyint": np.rint,
    "ldexp": np.ldexp,
    "tanhf": np.tanh,
    "exp10": lambda x: np.power(np.float64(10), x),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rsqrt_rn": lambda x: 1 / np.sqrt(x),
    "rcp_rn": lambda x: 1 / x,
    "fma": lambda x, y, z: x * y + z,
    "fma_rn": lambda x, y, z: x * y + z,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "fast_tanhf": np.tanh,
}
_TESTS: dict[str, Callable[..., Any]] = {"isnan": np.isnan, "isinf": np.isinf, "finitef": np.isfinite}


def install(interpreter: Any) -> None:
    """Put the functions into the modules that user code imports them from."""
    import triton.language.extra.libdevice as dispatch

    modules = [dispatch]
    if "triton.language.extra.cuda" in sys.modules:
        modules.append(sys.modules["triton.language.extra.cuda"].libdevice)
    for module in modules:
        for name, function in FUNCTIONS.items():
            if hasattr(module, name):
                setattr(module, name, _on_tensors(function, name, interpreter, truth=False))
        for name, function in _TESTS.items():
            if hasattr(module, name):
                setattr(module, name, _on_tensors(function, name, interpreter, truth=True))


def _on_tensors(function: Callable[..., Any], name: str, interpreter: Any, *, truth: bool) -> Callable[..., Any]:
    import triton.language as tl

    def call(*arguments: Any, _semantic: Any = None) -> Any:
        tensors = [argument for argument in arguments if isinstance(argument, tl.tensor)]
        kind = tl.int32 if truth else tensors[0].dtype
        values = [argument.handle.data if isinstance(argument, tl.tensor) else argument for argument in arguments]
        with np.errstate(all="ignore"):
            result = np.asarray(function(*values)).astype(interpreter._get_np_dtype(kind))
        shape = tl.block_type(kind, list(result.shape)) if any(t.type.is_block() for t in tensors) else kind
        return tl.tensor(interpreter.TensorHandle(result, kind), shape)

    call.__name__ = name
    return call
