"""Torch ops as Triton expressions in fp32. A new kind of op is one row of a table here."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Formatted = Mapping[str, str]  # operand and option name -> Triton expression
Literals = Mapping[str, object]  # the same names -> captured Python value, ... for tensors and runtime scalars


@dataclass(frozen=True)
class Pointwise:
    """`expression` names its arguments as the canonical signature does; a function may decide from literal values.

    `helpers` are the device functions that it calls. `result` is "float" or "bool"; "input" passes the operand on.
    """

    expression: str | Callable[[Formatted, Literals], str | None]
    flops: int = 1
    helpers: tuple[str, ...] = ()
    result: str = "float"
    name: str = ""
    defaults: Mapping[str, object] = field(default_factory=dict)


def _nan_aware(function: str, a: str, b: str) -> str:
    return f"tl.{function}({a}, {b}, propagate_nan=tl.PropagateNan.ALL)"


def _clamp(f: Formatted, given: Literals) -> str | None:
    low, high = given.get("min"), given.get("max")
    if low is not None and high is not None:
        x = f["input"]
        raised = f"tl.where({x} < {f['min']}, {f['min']}, {x})"
        return f"tl.where({x} > {f['max']}, {f['max']}, {raised})" if _ordered(low, high) else (
            f"{_nan_aware('minimum', _nan_aware('maximum', x, f['min']), f['max'])}")  # fmt: skip
    if low is not None:
        return f"tl.where({f['input']} < {f['min']}, {f['min']}, {f['input']})"
    return f"tl.where({f['input']} > {f['max']}, {f['max']}, {f['input']})"


def _ordered(low: object, high: object) -> bool:
    """With literal bounds in order, one comparison each is enough."""
    return isinstance(low, int | float) and isinstance(high, int | float) and low <= high


def _pow(f: Formatted, given: Literals) -> str | None:
    x, exponent = f["input"], given.get("exponent")
    forms = {
        1: x,
        2: f"{x} * {x}",
        3: f"{x} * {x} * {x}",
        4: f"({x} * {x}) * ({x} * {x})",
        0.5: f"tl.sqrt_rn({x})",
        -0.5: f"tl.rsqrt({x})",
        -1: f"1.0 / {x}",
        -2: f"1.0 / ({x} * {x})",
    }
    return forms.get(exponent) if isinstance(exponent, int | float) else None


def _with_alpha(sign: str) -> Callable[[Formatted, Literals], str | None]:
    def expression(f: Formatted, given: Literals) -> str | None:
        if given.get("alpha", 1) == 1:
            return f"{f['input']} {sign} {f['other']}"
        return f"{f['input']} {sign} {f['alpha']} * {f['other']}"

    return expression


def _div(f: Formatted, given: Literals) -> str | None:
    match given.get("rounding_mode"):
        case None:
            return f"{f['input']} / {f['other']}"
        case "floor":
            return f"tl.floor({f['input']} / {f['other']})"
    return None


def _gelu(f: Formatted, given: Literals) -> str | None:
    x = f["input"]
    if given.get("approximate", "none") == "none":
        return f"0.5 * {x} * (1.0 + tl.erf({x} * {math.sqrt(0.5)!r}))"
    return f"0.5 * {x} * (1.0 + tanh({math.sqrt(2 / math.pi)!r} * ({x} + 0.044715 * {x} * {x} * {x})))"


def _softplus(f: Formatted, given: Literals) -> str | None:
    x, beta = f["input"], given.get("beta", 1)
    if beta == 1:
        return f"tl.where({x} > {f['threshold']}, {x}, log1p(tl.exp({x})))"
    scaled = f"({x} * {f['beta']})"
    return f"tl.where({scaled} > {f['threshold']}, {x}, log1p(tl.exp({scaled})) / {f['beta']})"


def _dropout(f: Formatted, given: Literals) -> str | None:
    return f["input"] if given.get("training") is False or given.get("p") == 0 else None


def _unary(template: str, flops: int = 1, *helpers: str) -> Pointwise:
    return Pointwise(template, flops, helpers)


def _compare(sign: str) -> Pointwise:
    return Pointwise("{input} " + sign + " {other}", result="bool")


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805

POINTWISE: dict[str, Pointwise] = {
    "abs": _unary("tl.abs({input})"),
    "add": Pointwise(_with_alpha("+"), name="total"),
    "addcmul": Pointwise("{input} + {value} * {tensor1} * {tensor2}", 3),
    "bitwise_and": Pointwise("{input} & {other}", result="bool"),
    "bitwise_not": Pointwise("~{input}", result="bool"),
    "bitwise_or": Pointwise("{input} | {other}", result="bool"),
    "celu": _unary("tl.where({input} > 0.0, {input}, {alpha} * expm1({input} / {alpha}))", 6, "expm1"),
    "clamp": Pointwise(_clamp, 2, name="clamped"),
    "clone": Pointwise("{input}", 0, result="input"),
    "contiguous": Pointwise("{input}", 0, result="input"),
    "cos": _unary("tl.cos({input})", 8),
    "detach": Pointwise("{input}", 0, result="input"),
    "div": Pointwise(_div, name="quotient"),
    "dropout": Pointwise(_dropout, 0, result="input"),
    "elu": _unary("tl.where({input} > 0.0, {input}, {alpha} * expm1({input}))", 6, "expm1"),
    "eq": _compare("=="),
    "erf": _unary("tl.erf({input})", 8),
    "exp": _unary("tl.exp({input})", 4),
    "exp2": _unary("tl.exp2({input})", 4),
    "expm1": _unary("expm1({input})", 8, "expm1"),
    "ge": _compare(">="),
    "gelu": Pointwise(_gelu, 12),
    "gt": _compare(">"),
    "hardsigmoid": _unary("tl.clamp({input} + 3.0, 0.0, 6.0, propagate_nan=tl.PropagateNan.ALL) / 6.0", 4),
    "hardswish": _unary("{input} * tl.clamp({input} + 3.0, 0.0, 6.0, propagate_nan=tl.PropagateNan.ALL) / 6.0", 5),
    "hardtanh": Pointwise(
        lambda f, g: _clamp(
            {"input": f["input"], "min": f["min_val"], "max": f["max_val"]},
            {"min": g["min_val"], "max": g["max_val"]},
        ),
        2,
    ),
    "le": _compare("<="),
    "leaky_relu": _unary("tl.where({input} > 0.0, {input}, {input} * {negative_slope})", 2),
    "lerp": Pointwise("{input} + {weight} * ({end} - {input})", 3),
    "log": _unary("tl.log({input})", 4),
    "log1p": _unary("log1p({input})", 6, "log1p"),
    "log2": _unary("tl.log2({input})", 4),
    "logical_and": Pointwise("{input} & {other}", result="bool"),
    "logical_not": Pointwise("~{input}", result="bool"),
    "logical_or": Pointwise("{input} | {other}", result="bool"),
    "logsigmoid": _unary("tl.where({input} < 0.0, {input}, 0.0) - log1p(tl.exp(-tl.abs({input})))", 8, "log1p"),
    "lt": _compare("<"),
    "masked_fill": Pointwise("tl.where({mask}, {value}, {input})"),
    "maximum": Pointwise(lambda f, _: _nan_aware("maximum", f["input"], f["other"]), name="larger"),
    "minimum": Pointwise(lambda f, _: _nan_aware("minimum", f["input"], f["other"]), name="smaller"),
    "mish": _unary("mish({input})", 10, "mish"),
    "mul": Pointwise("{input} * {other}", name="product"),
    "ne": _compare("!="),
    "neg": _unary("-{input}"),
    "pow": Pointwise(_pow, 2, name="power"),
    "reciprocal": _unary("1.0 / {input}"),
    "relu": _unary("tl.where({input} < 0.0, 0.0, {input})"),
    "relu6": _unary("tl.clamp({input}, 0.0, 6.0, propagate_nan=tl.PropagateNan.ALL)", 2),
    "rsqrt": _unary("tl.rsqrt({input})", 2),
    "selu": _unary(
        f"{_SELU_SCALE!r} * tl.where({{input}} > 0.0, {{input}}, {_SELU_ALPHA!r} * expm1({{input}}))", 7, "expm1"
    ),
    "sigmoid": _unary("tl.sigmoid({input})", 4),
    "sign": _unary("tl.where({input} > 0.0, 1.0, tl.where({input} < 0.0, -1.0, 0.0))", 2),
    "silu": _unary("{input} * tl.sigmoid({input})", 5),
    "sin": _unary("tl.sin({input})", 8),
    "softplus": Pointwise(_softplus, 8, ("log1p",)),
    "softsign": _unary("{input} / (1.0 + tl.abs({input}))", 3),
    "sqrt": _unary("tl.sqrt_rn({input})", 2),
    "square": _unary("{input} * {input}"),
    "sub": Pointwise(_with_alpha("-"), name="difference"),
    "tanh": _unary("tanh({input})", 8, "tanh"),
    "tanhshrink": _unary("{input} - tanh({input})", 9, "tanh"),
    "tensor": Pointwise("{data}", 0, result="input"),
    "to": Pointwise("{input}", 0, result="input"),
    "where": Pointwise("tl.where({condition}, {input}, {other})"),
}

VIEWS = frozenset({"view", "reshape", "flatten", "squeeze", "unsqueeze", "view_as"})

# Reductions of one tensor over dims, and normalisations that start with one.
REDUCTIONS = frozenset(
    {"sum", "mean", "max", "min", "amax", "amin", "logsumexp", "softmax", "log_softmax", "softmin", "layer_norm",
     "rms_norm", "group_norm", "instance_norm", "norm", "vector_norm", "var", "std", "normalize", "argmax", "argmin",
     "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "mse_loss", "smooth_l1_loss", "huber_loss",
     "kl_div"}
)  # fmt: skip

HELPERS = {
    "tanh": '''@triton.jit
def tanh(x):
    """tanh from exp; below 0.625 a polynomial (Cephes), as 1 - x would cancel."""
    z = x * x
    small = -5.70498872745e-3 * z + 2.06390887954e-2
    small = small * z - 5.37397155531e-2
    small = small * z + 1.33314422036e-1
    small = small * z - 3.33332819422e-1
    small = small * z * x + x
    large = 1.0 - 2.0 / (tl.exp(2.0 * tl.abs(x)) + 1.0)
    return tl.where(tl.abs(x) < 0.625, small, tl.where(x < 0.0, -large, large))''',
    "expm1": '''@triton.jit
def expm1(x):
    """exp(x) - 1; near zero by its Taylor series, where the difference would cancel."""
    small = 1.0 + x / 7.0
    small = 1.0 + x / 6.0 * small
    small = 1.0 + x / 5.0 * small
    small = 1.0 + x / 4.0 * small
    small = 1.0 + x / 3.0 * small
    small = x * (1.0 + x / 2.0 * small)
    return tl.where(tl.abs(x) < 0.4, small, tl.exp(x) - 1.0)''',
    "log1p": '''@triton.jit
def log1p(x):
    """log(1 + x), with the rounding of 1 + x divided out (Kahan)."""
    rounded = 1.0 + x
    exact = (rounded == 1.0) | (x == float("inf"))
    return tl.where(
        exact, x, tl.log(rounded) * (x / tl.where(exact, 1.0, rounded - 1.0))
    )''',
    "mish": '''@triton.jit
def mish(x):
    """x * tanh(softplus(x)), as x * n / (n + 2) with n = e^x * (e^x + 2)."""
    e = tl.exp(tl.where(x > 20.0, 20.0, x))
    n = e * (e + 2.0)
    return tl.where(x > 20.0, x, x * (n / (n + 2.0)))''',
    "nan_max": '''@triton.jit
def nan_max(a, b):
    """The larger one, NaN when either is."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)''',
    "nan_min": '''@triton.jit
def nan_min(a, b):
    """The smaller one, NaN when either is."""
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)''',
}
HELPERS_OF_GELU = {"tanh": ("tanh",), "none": ()}
