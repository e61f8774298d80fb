"""Pointwise operations that merge into fewer: numbers in a row, clamps inside clamps, functions that undo each other."""

import math
from dataclasses import dataclass

from kernelwright.micro.rewrite.algebra import Factor, Match, Step, View, line_of, written
from kernelwright.micro.rewrite.algebra_source import Code, Spelling, Unwritable, atom
from kernelwright.ops import row
from kernelwright.values import Argument, Node, Refusal, TensorRef


def merged_numbers(view: View, node: Node) -> Match | Refusal | None:
    """(x * a) / b * c = x * (a / b * c), x + a - b = x + (a - b), and -(-x) = x."""
    steps, start = _run(view, node)
    user = view.only_user(node.outputs[0])
    following = view.step(user, node.outputs[0]) if user is not None else None
    if len(steps) < 2 or (following is not None and following.by_scalar):
        return None
    shifts = [s for s in steps if not s.scales]
    if shifts and any(s.scales or s.op == "rsub" for s in steps):
        return None
    if any(s.op == "div" and s.other == 0 for s in steps):
        return Refusal("A division by zero cannot be merged.", line_of(node))
    undone = all(s.op == "neg" for s in steps) and len(steps) % 2 == 0
    if undone and view.aliased(node.outputs[0], start):
        return None

    def write(spelling: Spelling) -> Code:
        x = atom(spelling.once(start)) if not undone else spelling.once(start)
        if undone:
            return Code(x)
        if not shifts:
            factor = Factor()
            for step in steps:
                factor = factor.then(step, "" if step.op == "neg" else _number(step, spelling))
            return Code(factor.times(x))
        numbers = [_number(s, spelling) for s in steps]
        signs = ["+" if s.op == steps[0].op else "-" for s in steps]
        total = "".join(f" {sign} {number}" for sign, number in zip(signs, numbers, strict=True)).removeprefix(" + ")
        return Code(f"{x} {'+' if steps[0].op == 'add' else '-'} ({total})")

    saved = 2 * view.bytes(start) * (len(steps) - 1)
    label = f"{len(steps)} operations with numbers as one"
    nodes = frozenset(s.node.id for s in steps)
    return Match(nodes, node.outputs[0], label, write, math.prod(view.shape(start)) * (len(steps) - 1), saved, undone)


def _run(view: View, node: Node) -> tuple[tuple[Step, ...], int]:
    steps: list[Step] = []
    value = node.outputs[0]
    producer: Node | None = node
    while (step := view.step(producer)) is not None and step.by_scalar:
        steps.append(step)
        value = step.value
        producer = view.private(value)
    return tuple(reversed(steps)), value


def _number(step: Step, spelling: Spelling) -> str:
    return written(step, spelling)


@dataclass(frozen=True)
class Clamp:
    """`low` and `high` are (node, operand, name) of the bounds, None where open."""

    node: Node
    value: int
    low: float
    high: float


def clamp(node: Node | None) -> Clamp | None:
    """A clamp, relu, relu6 or hardtanh between two numbers."""
    if node is None or node.inplace or not node.args or not isinstance(node.args[0], TensorRef):
        return None
    fixed = {"relu": (0.0, math.inf), "relu6": (0.0, 6.0)}
    if node.op in fixed:
        return Clamp(node, node.args[0].id, *fixed[node.op])
    if node.op not in ("clamp", "hardtanh") or len(node.args) < 3:
        return None
    low, high = _bound(node.args[1], -math.inf), _bound(node.args[2], math.inf)
    return None if low is None or high is None or low > high else Clamp(node, node.args[0].id, low, high)


def _bound(argument: Argument, missing: float) -> float | None:
    if argument is None:
        return missing
    return float(argument) if isinstance(argument, int | float) else None


def merged_clamps(view: View, node: Node) -> Match | Refusal | None:
    """clamp(clamp(x, a, b), c, d) = clamp(x, max(a, c), min(b, d)) where the two ranges meet."""
    outer = clamp(node)
    inner = clamp(view.private(outer.value)) if outer is not None else None
    if outer is None or inner is None or not view.floating(outer.value):
        return None
    low, high = max(outer.low, inner.low), min(outer.high, inner.high)
    if low > high:
        return Refusal("The bounds of the two clamps cross: the result is a constant.", line_of(node))

    def write(spelling: Spelling) -> Code:
        x = spelling.once(inner.value)
        fixed = all(_bounds_fixed(c, spelling) for c in (outer, inner))
        if not fixed and any(
            math.isfinite(a.low) and math.isfinite(b.high) for a, b in ((inner, outer), (outer, inner))
        ):
            raise Unwritable("The bounds are variables and could cross; then two clamps are not one.")
        if fixed:
            for kept in (outer, inner):
                module = spelling.module(kept.node)
                if (low, high) == (kept.low, kept.high) and (module or kept.node.op == "relu"):
                    return Code(f"{module}({x})" if module else f"{spelling.torch}.relu({x})")
        bounds = []
        for end, innermost in (("low", max), ("high", min)):
            texts = [_spelled(c, end, spelling) for c in (inner, outer) if math.isfinite(getattr(c, end))]
            values = [getattr(c, end) for c in (inner, outer) if math.isfinite(getattr(c, end))]
            name = "min" if end == "low" else "max"
            if len(texts) == 2 and not fixed:
                bounds.append(f"{name}={innermost.__name__}({', '.join(texts)})")
            elif texts:
                bounds.append(f"{name}={texts[values.index(innermost(values))]}")
        return Code(f"{spelling.torch}.clamp({', '.join([x, *bounds])})")

    saved = 2 * view.bytes(inner.value)
    nodes = frozenset({inner.node.id, node.id})
    return Match(nodes, node.outputs[0], f"{inner.node.op} and {node.op} as one", write, saved // 8, saved)


def _bounds_fixed(found: Clamp, spelling: Spelling) -> bool:
    """Whether the bounds are literals, so that what holds for them here holds always."""
    if found.node.op not in ("clamp", "hardtanh"):
        return True
    names = ("min", "max") if found.node.op == "clamp" else ("min_val", "max_val")
    return all(spelling.fixed(found.node, name, i) for i, name in enumerate(names))


def _spelled(found: Clamp, end: str, spelling: Spelling) -> str:
    if found.node.op in ("relu", "relu6"):
        return repr(found.low if end == "low" else found.high)
    names = ("min", "max") if found.node.op == "clamp" else ("min_val", "max_val")
    return spelling.scalar(found.node, 1 + (end == "high"), names[end == "high"])


def needless_clamp(view: View, node: Node) -> Match | None:
    """clamp(tanh(x), -1, 1) = tanh(x), relu(sigmoid(x)) = sigmoid(x), leaky_relu(relu(x)) = relu(x)."""
    found = clamp(node)
    if node.op == "leaky_relu" and not node.inplace:
        found = Clamp(node, node.tensor(), 0.0, math.inf)
    producer = view.producer(found.value) if found is not None else None
    limits = row(producer.op).limits if producer is not None else None
    if found is None or producer is None or limits is None or not view.floating(found.value):
        return None
    low, high = limits
    if found.low > low or found.high < high:
        return None

    def write(spelling: Spelling) -> Code:
        if node.op != "leaky_relu" and not _bounds_fixed(found, spelling):
            raise Unwritable("The bounds change nothing on this workload, but they are variables and can be others.")
        return Code(spelling.once(found.value))

    return Match(
        frozenset({node.id}),
        node.outputs[0],
        f"{node.op} of {producer.op}, which changes nothing",
        write,
        math.prod(view.shape(found.value)),
        2 * view.bytes(found.value),
        True,
    )


def merged_leaky_relu(view: View, node: Node) -> Match | None:
    """leaky_relu(leaky_relu(x, a), b) = leaky_relu(x, a * b) for a >= 0, which keeps the sign."""
    inner = view.private(node.tensor()) if node.op == "leaky_relu" else None
    if inner is None or inner.op != "leaky_relu" or inner.inplace or node.inplace:
        return None
    slope = inner.args[1]
    if not isinstance(slope, int | float) or slope < 0:
        return None

    def write(spelling: Spelling) -> Code:
        if not spelling.fixed(inner, "negative_slope", 0):
            raise Unwritable("The inner slope is a variable: were it negative, the two could not be merged.")
        slopes = " * ".join(atom(spelling.scalar(n, 1, "negative_slope")) for n in (inner, node))
        return Code(f"{spelling.functional}.leaky_relu({spelling.once(inner.tensor())}, {slopes})")

    size = view.bytes(node.outputs[0])
    return Match(frozenset({inner.id, node.id}), node.outputs[0], "two leaky_relu as one", write, size // 4, 2 * size)


def undone(view: View, node: Node) -> Match | Refusal | None:
    """exp(log(x)) and sqrt(x) ** 2 are x where x cannot be negative; for other x they are NaN, which must stay."""
    inner = view.private(node.args[0].id) if node.args and isinstance(node.args[0], TensorRef) else None
    if inner is None or inner.inplace or node.inplace:
        return None
    squared = node.op == "square" or (node.op == "pow" and node.args[1] == 2)
    if not ((node.op == "exp" and inner.op == "log") or (squared and inner.op == "sqrt")):
        return None
    source = inner.tensor()
    if not view.floating(source):
        return Refusal(
            f"{inner.op} also makes floating-point numbers of whole ones, which have to stay.", line_of(node)
        )
    producer = view.producer(source)
    if producer is None or (row(producer.op).limits or (-1.0, 1.0))[0] < 0:
        reason = f"{node.op} undoes {inner.op} only where its argument is not negative, which is not known here."
        return Refusal(reason, line_of(node))
    return Match(
        frozenset({inner.id, node.id}),
        node.outputs[0],
        f"{node.op} of {inner.op}",
        lambda spelling: Code(spelling.once(source)),
        0,
        4 * view.bytes(source),
        True,
    )
