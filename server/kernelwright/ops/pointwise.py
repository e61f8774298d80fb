"""Operators that compute each element of the result from one element of each operand."""

import math

from kernelwright.ops.row import Given, Kind, Layout, Meaning, Row, rows


def _row(name: str, meaning: Meaning | None, signature: str = "input", /, **more: object) -> Row:
    return Row(name, Kind.POINTWISE, signature, meaning, layout=Layout.KEPT, **more)  # type: ignore[arg-type]


def _compare(name: str, sign: str, alias: str, word: str = "") -> Row:
    return _row(name, f"input {sign} other", "input other", sign=sign, aliases=alias, word=word)


def _scaled(sign: str) -> Meaning:
    return lambda given: f"input {sign} other" if given["alpha"] == 1 else f"input {sign} alpha * other"


def _div(given: Given) -> str | None:
    return {None: "input / other", "floor": "floor(input / other)"}.get(given["rounding_mode"])


def _clamp(low: str, high: str) -> Meaning:
    def meaning(given: Given) -> str:
        bounds = given[low], given[high]
        if bounds[0] is None:
            return f"where(input > {high}, {high}, input)"
        raised = f"where(input < {low}, {low}, input)"
        if bounds[1] is None:
            return raised
        if all(isinstance(bound, int | float) for bound in bounds) and bounds[0] <= bounds[1]:
            return f"where(input > {high}, {high}, {raised})"
        return f"minimum(maximum(input, {low}), {high})"

    return meaning


_POWERS = {
    1: "input",
    2: "input * input",
    3: "input * input * input",
    4: "(input * input) * (input * input)",
    0.5: "sqrt(input)",
    -0.5: "rsqrt(input)",
    -1: "1.0 / input",
    -2: "1.0 / (input * input)",
}


def _pow(given: Given) -> str | None:
    exponent = given["exponent"]
    return _POWERS.get(exponent) if isinstance(exponent, int | float) else None


def _gelu(given: Given) -> str:
    if given["approximate"] == "none":
        return f"0.5 * input * (1.0 + erf(input * {math.sqrt(0.5)!r}))"
    return f"0.5 * input * (1.0 + tanh({math.sqrt(2 / math.pi)!r} * (input + 0.044715 * input * input * input)))"


def _softplus(given: Given) -> str:
    if given["beta"] == 1:
        return "where(input > threshold, input, log1p(exp(input)))"
    return "where(input * beta > threshold, input, log1p(exp(input * beta)) / beta)"


_POSITIVE = (0.0, math.inf)

POINTWISE = rows(
    _row("abs", "abs(input)", aliases="absolute", word="absolute value", limits=_POSITIVE),
    _row("acos", None, aliases="arccos"),
    _row("add", _scaled("+"), "input other * alpha=1", sign="+", result="total", common=True),
    _row("addcdiv", "input + value * tensor1 / tensor2", "input tensor1 tensor2 * value=1"),
    _row("addcmul", "input + value * tensor1 * tensor2", "input tensor1 tensor2 * value=1"),
    _row("asin", None, aliases="arcsin"),
    _row("atan", None, aliases="arctan"),
    _row("atan2", None, "input other", aliases="arctan2"),
    _row("bitwise_and", "input & other", "input other", aliases="and", sign="&"),
    _row("bitwise_not", "~input", aliases="invert", sign="~"),
    _row("bitwise_or", "input | other", "input other", aliases="or", sign="|"),
    _row("bitwise_xor", None, "input other", aliases="xor", sign="^"),
    _row("ceil", "ceil(input)"),
    _row("celu", "where(input > 0.0, input, alpha * expm1(input / alpha))", "input * alpha=1.0",
         module="CELU", attributes="alpha", word="CELU"),
    _row("clamp", _clamp("min", "max"), "input min=None max=None", aliases="clip", result="clamped", common=True),
    _row("clamp_max", "where(input > max, max, input)", "input max", result="clamped", word="clamp", common=True),
    _row("clamp_min", "where(input < min, min, input)", "input min", result="clamped", word="clamp", common=True),
    _row("cos", "cos(input)", limits=(-1.0, 1.0)),
    _row("div", _div, "input other * rounding_mode=None", aliases="divide truediv true_divide", sign="/",
         result="quotient", word="divide", common=True),
    _row("elu", "where(input > 0.0, input, alpha * expm1(input))", "input * alpha=1.0",
         module="ELU", attributes="alpha", word="ELU"),
    _compare("eq", "==", ""),
    _row("erf", "erf(input)", aliases="special_erf"),
    _row("exp", "exp(input)", word="exponential", limits=_POSITIVE),
    _row("exp2", "exp2(input)", aliases="special_exp2"),
    _row("expm1", "expm1(input)", aliases="special_expm1"),
    _row("floor", "floor(input)"),
    _row("floor_divide", None, "input other", aliases="floordiv", sign="//"),
    _row("fmod", None, "input other"),
    _compare("ge", ">=", "greater_equal", "comparison"),
    _row("gelu", _gelu, "input * approximate='none'", module="GELU", word="GELU", flops=8),
    _compare("gt", ">", "greater", "comparison"),
    _row("hardshrink", "where((input >= -lambd) & (input <= lambd), 0.0, input)", "input lambd=0.5",
         module="Hardshrink", attributes="lambd"),
    _row("hardsigmoid", "clip(input + 3.0, 0.0, 6.0) / 6.0", module="Hardsigmoid", limits=(0.0, 1.0)),
    _row("hardswish", "input * clip(input + 3.0, 0.0, 6.0) / 6.0", module="Hardswish"),
    _row("hardtanh", _clamp("min_val", "max_val"), "input min_val=-1.0 max_val=1.0",
         module="Hardtanh", attributes="min_val max_val"),
    _row("isinf", None),
    _row("isnan", "input != input"),
    _compare("le", "<=", "less_equal", "comparison"),
    _row("leaky_relu", "where(input > 0.0, input, input * negative_slope)", "input negative_slope=0.01",
         module="LeakyReLU", attributes="negative_slope", word="leaky ReLU"),
    _row("lerp", "input + weight * (end - input)", "input end weight"),
    _row("log", "log(input)", word="logarithm"),
    _row("log10", None),
    _row("log1p", "log1p(input)", aliases="special_log1p"),
    _row("log2", "log2(input)"),
    _row("logical_and", "input & other", "input other"),
    _row("logical_not", "~input"),
    _row("logical_or", "input | other", "input other"),
    _row("logsigmoid", "where(input < 0.0, input, 0.0) - log1p(exp(-abs(input)))", aliases="log_sigmoid",
         module="LogSigmoid"),
    _compare("lt", "<", "less", "comparison"),
    _row("masked_fill", "where(mask, value, input)", "input mask value"),
    _row("maximum", "maximum(input, other)", "input other", result="larger"),
    _row("minimum", "minimum(input, other)", "input other", result="smaller"),
    _row("mish", "mish(input)", module="Mish", word="Mish", flops=10),
    _row("mul", "input * other", "input other", aliases="multiply", sign="*", result="product", word="multiply",
         common=True),
    _compare("ne", "!=", "not_equal"),
    _row("neg", "-input", aliases="negative", sign="-", word="negation", common=True),
    _row("pow", _pow, "input exponent", sign="**", result="power", word="power"),
    _row("prelu", None, "input weight", module="PReLU"),
    _row("reciprocal", "1.0 / input"),
    _row("relu", "where(input < 0.0, 0.0, input)", module="ReLU", spelled="torch.relu", word="ReLU", limits=_POSITIVE),
    _row("relu6", "clip(input, 0.0, 6.0)", module="ReLU6", word="ReLU6"),
    _row("remainder", None, "input other", aliases="mod", sign="%"),
    _row("round", None),
    _row("rsqrt", "rsqrt(input)"),
    _row("selu", "1.0507009873554805 * where(input > 0.0, input, 1.6732632423543772 * expm1(input))", module="SELU",
         word="SELU"),
    _row("sigmoid", "sigmoid(input)", aliases="special_expit", module="Sigmoid", spelled="torch.sigmoid",
         limits=(0.0, 1.0), flops=4),
    _row("sign", "where(input > 0.0, 1.0, where(input < 0.0, -1.0, 0.0))"),
    _row("silu", "input * sigmoid(input)", module="SiLU", word="SiLU", flops=5),
    _row("sin", "sin(input)", limits=(-1.0, 1.0)),
    _row("softplus", _softplus, "input * beta=1.0 threshold=20.0",
         module="Softplus", attributes="beta threshold", flops=6),
    _row("softshrink", "where(input > lambd, input - lambd, where(input < -lambd, input + lambd, input * 0.0))",
         "input lambd=0.5", module="Softshrink", attributes="lambd"),
    _row("softsign", "input / (1.0 + abs(input))", module="Softsign", launches=3),
    _row("sqrt", "sqrt(input)"),
    _row("square", "input * input", limits=_POSITIVE),
    _row("sub", _scaled("-"), "input other * alpha=1", aliases="subtract", sign="-", result="difference",
         word="subtract", common=True),
    _row("tan", None),
    _row("tanh", "tanh(input)", module="Tanh", spelled="torch.tanh", limits=(-1.0, 1.0), flops=6),
    _row("tanhshrink", "input - tanh(input)", module="Tanhshrink", launches=2),
    _row("threshold", "where(input <= threshold, value, input)", "input threshold value",
         module="Threshold", attributes="threshold value"),
    _row("trunc", None),
    _row("where", "where(condition, input, other)", "condition input other"),
)  # fmt: skip
