"""What a person would call a region, and how its docstring says what is computed."""

import math
import re
from collections.abc import Sequence
from typing import TypeGuard

from kernelwright.nest.form import Apply, Expr, Load, Nest, Var
from kernelwright.ops import Kind, row

# A run of ops that has a name of its own, as it stands in a list of ops with a space after each.
_PATTERNS = tuple(
    (re.compile(rf"(?<!\S){pattern.replace('add', '(?:add|bias|residual)')} "), name)
    for pattern, name in (
        (r"(pow|square|mul) mean add (rsqrt mul|sqrt div|sqrt reciprocal mul)( mul)?", "rms_norm"),
        (r"mean sub (pow|square) mean add (rsqrt mul|sqrt div)( mul)?( add)?", "layer_norm"),
        (r"mean (var sub|sub var) add (rsqrt mul|sqrt div)( mul)?( add)?", "layer_norm"),
        (r"(max|amax) sub exp sum div", "softmax"),
        (r"(max|amax) sub exp sum log sub", "log_softmax"),
        (r"(norm|vector_norm) (clamp |add )?div", "l2_normalize"),
        (r"(pow|square|mul) sum (add )?sqrt (clamp |add )?div", "l2_normalize"),
        (r"abs (sum|mean) (add |clamp )?div", "l1_normalize"),
        (r"sub (pow|square) mean", "mse_loss"),
        (r"sub abs mean", "l1_loss"),
        (r"mul sub (clamp|relu) mean", "hinge_loss"),
        (r"(log )?kl_div", "kl_div"),
        (r"(mul )?(pow|mul mul) mul add mul tanh add mul( mul)?", "gelu"),
        (r"(mul )?(div|mul) erf add mul( mul)?", "gelu"),
        (r"softplus tanh mul", "mish"),
    )
)
_AT_MOST = 3

# Steps that stand for several operators, or for one in a certain place.
_WORDS = {"avg_pool": "average pool", "bias": "bias add", "l1_normalize": "L1 normalization",
          "l2_normalize": "L2 normalization", "residual": "residual add"}  # fmt: skip
_COMMON = frozenset({"bias", "scale", "residual"})


def named(ops: Sequence[str]) -> tuple[str, str]:
    """(base of the kernel's name, what it computes in at most 36 characters) of operators in order."""
    steps = _distinct("".join(f"{op} " for op in ops if row(op).kind not in (Kind.CREATION, Kind.LAYOUT)))
    return "_".join(_few(steps)), _words(steps, 36)


def name_of(nest: Nest) -> tuple[str, str]:
    """(base of the kernel's name, what it computes in at most 36 characters) of a Nest."""
    if nest.along is None and nest.walk is None:
        return named(nest.ops)
    ops = _sums_told(nest)
    steps = _distinct(re.sub(r"(?<!\S)sigmoid mul ", "silu ", ops) if _gates(nest) else ops)
    layout = "channels_last" if nest.stored.order else "contiguous"
    return f"copy_{layout}" if steps == ["copy"] else "_".join(_few(steps)), _words(steps, 36)


def _sums_told(nest: Nest) -> str:
    """The ops, each with a space after it; an add of a broadcast vector is "bias", one of a whole tensor "residual"."""
    ops = [op for op in nest.ops if row(op).kind not in (Kind.CREATION, Kind.LAYOUT)]
    sums = [let.expr.arguments for let in nest.lets if _is(let.expr, "add") and re.fullmatch(r"total(_\d+)?", let.name)]
    if ops.count("add") != len(sums):
        return "".join(f"{op} " for op in ops)
    kinds = iter([_kind_of_sum(nest, [part.name for part in parts if isinstance(part, Var)]) for parts in sums])
    return "".join(f"{next(kinds) if op == 'add' else op} " for op in ops)


def _is(expr: Expr, function: str) -> TypeGuard[Apply]:
    return isinstance(expr, Apply) and expr.function == function


def _kind_of_sum(nest: Nest, terms: list[str]) -> str:
    lets = {let.name: let.expr for let in nest.lets}
    tensors = {tensor.name: tensor for tensor in nest.tensors}
    loads = [expr for term in terms if isinstance(expr := lets.get(term), Load)]
    given = [tensors[load.tensor] for load in loads]
    if len(terms) != 2 or not given:
        return "add"
    if any(math.prod(tensor.shape) > 1 and tensor.shape != nest.main.shape for tensor in given):
        return "bias"
    made = any(term in lets and not isinstance(lets[term], Load) for term in terms)
    return "residual" if made and math.prod(given[0].shape) > 1 else "add"


def _gates(nest: Nest) -> bool:
    """Whether each sigmoid is multiplied by its own argument."""
    gates = {let.name: let.expr.arguments for let in nest.lets if _is(let.expr, "sigmoid")}
    products = [set(let.expr.arguments) for let in nest.lets if _is(let.expr, "mul")]
    return bool(gates) and all({Var(gate), *own} in products for gate, own in gates.items())


def _words(steps: list[str], room: int) -> str:
    for some in (steps, _few(steps), _telling(steps)[:2], _telling(steps)[:1]):
        words = [_WORDS.get(step) or row(step).word or step.replace("_", " ") for step in some]
        text = " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
        if len(text) <= room:
            return text[0].upper() + text[1:]
    return "Fused operations"


def _few(steps: list[str]) -> list[str]:
    if len(steps) <= _AT_MOST:
        return steps
    return _telling(steps)[:_AT_MOST]


def _telling(steps: list[str]) -> list[str]:
    telling = [step for step in steps if step not in _COMMON and not row(step).common]
    return list(dict.fromkeys(telling or steps))


def _distinct(ops: str) -> list[str]:
    """The steps that operators come to, each with a space after it; one that repeats the one before is left out."""
    for pattern, name in _PATTERNS:
        ops = pattern.sub(f"{name} ", ops)
    steps = ops.split()
    return [step for step, before in zip(steps, ["", *steps], strict=False) if step != before] or ["copy"]
