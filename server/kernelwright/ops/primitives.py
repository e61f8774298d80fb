"""The scalar functions of which meanings are made, each with its Triton and its torch text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernelwright.ops.expression import Apply, Const, Expr, Var, applied

ATOM = 9
"""The precedence of what never needs brackets; operators have that of Python, lower ones binding less."""
_COMPARISON = 1


@dataclass(frozen=True)
class Primitive:
    """`{0}`, `{1}` … stand for the arguments. `device` names the device function that the Triton text calls.

    `truth` is how many of the first arguments are booleans; -1: all.
    """

    triton: str
    torch: str
    precedence: int = ATOM
    device: str = ""
    truth: int = 0
    boolean: bool = False


def _operator(sign: str, precedence: int, *, truth: int = 0, boolean: bool = False) -> Primitive:
    return Primitive(f"{{0}} {sign} {{1}}", f"{{0}} {sign} {{1}}", precedence, truth=truth, boolean=boolean)


def _function(triton: str, torch: str) -> Primitive:
    return Primitive(f"{triton}({{0}})", f"{torch}({{0}})")


def _device(name: str, torch: str) -> Primitive:
    return Primitive(f"{name}({{0}})", torch, device=name)


def _extreme(name: str) -> Primitive:
    return Primitive(f"tl.{name}({{0}}, {{1}}, propagate_nan=tl.PropagateNan.ALL)", f"torch.{name}({{0}}, {{1}})")


PRIMITIVES: dict[str, Primitive] = {
    "lt": _operator("<", _COMPARISON, boolean=True),
    "le": _operator("<=", _COMPARISON, boolean=True),
    "gt": _operator(">", _COMPARISON, boolean=True),
    "ge": _operator(">=", _COMPARISON, boolean=True),
    "eq": _operator("==", _COMPARISON, boolean=True),
    "ne": _operator("!=", _COMPARISON, boolean=True),
    "or": _operator("|", 2, truth=-1, boolean=True),
    "and": _operator("&", 3, truth=-1, boolean=True),
    "add": _operator("+", 4),
    "sub": _operator("-", 4),
    "mul": _operator("*", 5),
    "div": _operator("/", 5),
    "neg": Primitive("-{0}", "-{0}", 6),
    "not": Primitive("~{0}", "~{0}", 6, truth=-1, boolean=True),
    "abs": _function("tl.abs", "torch.abs"),
    "ceil": _function("tl.ceil", "torch.ceil"),
    "clip": Primitive(
        "tl.clamp({0}, {1}, {2}, propagate_nan=tl.PropagateNan.ALL)", "torch.clamp({0}, {1}, {2})"
    ),
    "cos": _function("tl.cos", "torch.cos"),
    "erf": _function("tl.erf", "torch.erf"),
    "exp": _function("tl.exp", "torch.exp"),
    "exp2": _function("tl.exp2", "torch.exp2"),
    "expm1": _device("expm1", "torch.expm1({0})"),
    "floor": _function("tl.floor", "torch.floor"),
    "log": _function("tl.log", "torch.log"),
    "log1p": _device("log1p", "torch.log1p({0})"),
    "log2": _function("tl.log2", "torch.log2"),
    "maximum": _extreme("maximum"),
    "minimum": _extreme("minimum"),
    "mish": _device("mish", "{0} * torch.tanh(torch.log1p(torch.exp({0})))"),
    "rsqrt": _function("tl.rsqrt", "torch.rsqrt"),
    "sigmoid": _function("tl.sigmoid", "torch.sigmoid"),
    "sin": _function("tl.sin", "torch.sin"),
    "sqrt": _function("tl.sqrt_rn", "torch.sqrt"),
    "tanh": _device("tanh", "torch.tanh({0})"),
    "where": Primitive("tl.where({0}, {1}, {2})", "torch.where({0}, {1}, {2})", truth=1),
}  # fmt: skip


def triton_text(expr: Expr, operands: Mapping[str, str]) -> str:
    """The expression in Triton; `operands` are the texts of its variables, each a name, a literal or in brackets."""
    return _written(expr, operands, "triton")[0]


def torch_text(expr: Expr, operands: Mapping[str, str]) -> str:
    """The expression on torch tensors, as `triton_text` writes it for Triton."""
    return _written(expr, operands, "torch")[0]


def device_functions(expr: Expr) -> Iterator[str]:
    """The names of the device functions that the Triton text calls."""
    return (device for part in applied(expr) if (device := PRIMITIVES[part.function].device))


def truths(expr: Expr) -> frozenset[str]:
    """The variables that must be booleans."""
    found: set[str] = set()
    for part in applied(expr):
        count = PRIMITIVES[part.function].truth
        found |= {a.name for a in part.arguments[: len(part.arguments) if count < 0 else count] if isinstance(a, Var)}
    return frozenset(found)


def is_boolean(expr: Expr) -> bool:
    """Whether the result is a boolean rather than a number."""
    return isinstance(expr, Apply) and PRIMITIVES[expr.function].boolean


def number_text(value: int | float) -> str:
    """A number as Triton and torch code write it."""
    return repr(value) if abs(value) < float("inf") else f'float("{value}")'


def _written(expr: Expr, operands: Mapping[str, str], dialect: str) -> tuple[str, int]:
    """(text, precedence)"""
    if isinstance(expr, Const):
        return number_text(expr.value), ATOM
    if isinstance(expr, Var):
        return operands[expr.name], ATOM
    primitive = PRIMITIVES[expr.function]
    parts = [_written(argument, operands, dialect) for argument in expr.arguments]
    own = primitive.precedence
    if own != ATOM:
        # (a * b) * (c * d): the brackets on the right, which are needed, are given on the left too. a < b < c is a chain.
        alone = own == _COMPARISON or (len(parts) == 2 and parts[1][1] == own)
        least = own + 1 if alone else own
        parts = [(text if level >= least else f"({text})", level) for text, level in parts]
    template: str = getattr(primitive, dialect)
    return template.format(*(text for text, _ in parts)), own
