"""Reductions and normalisations as lines of a Program: sums and maxima over rows, and pointwise code around them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.micro.rewrite.losses import LOSSES, loss
from kernelwright.micro.rewrite.normalisations import moments, normalisation, rms_norm
from kernelwright.micro.rewrite.program import ELEMENT, ROW, Domain
from kernelwright.micro.rewrite.scope import Known, NotLowerable, Scope
from kernelwright.values import Graph, Node, TensorRef, TensorType


@dataclass(frozen=True)
class RowShape:
    """A tensor of some shape as (outer, length, inner), reduced over `axes` of it (None: groups of channels)."""

    outer: int
    length: int
    inner: int
    axes: tuple[int, int] | None
    groups: int = 0


def row_shape(graph: Graph, node: Node) -> RowShape | None:
    """Over which rows a reduction or normalisation runs; None where its dims do not lie side by side."""
    first = node.args[0]
    if not isinstance(first, TensorRef):
        return None
    shape = graph.value(first.id).type.shape
    if not shape or 0 in shape:
        return None
    if node.op == "group_norm" and isinstance(node.args[1], int):
        groups = node.args[1]
        return RowShape(shape[0] * groups, math.prod(shape[1:]) // groups, 1, None, groups)
    dims = _reduced_dims(node, shape)
    if dims is None or not dims or dims != tuple(range(dims[0], dims[-1] + 1)):
        return None
    start, stop = dims[0], dims[-1] + 1
    return RowShape(math.prod(shape[:start]), math.prod(shape[start:stop]), math.prod(shape[stop:]), (start, stop))


def _reduced_dims(node: Node, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    rank = len(shape)
    if node.op in ("layer_norm", "rms_norm"):
        normalized = node.args[1]
        return tuple(range(rank - len(normalized), rank)) if isinstance(normalized, tuple) else (rank - 1,)
    if node.op == "instance_norm":
        return tuple(range(2, rank)) if rank > 2 else None
    if node.op.startswith("adaptive_avg_pool"):
        size = node.kwargs.get("output_size")
        spatial = int(node.op[-2])
        ones = size == 1 or (isinstance(size, tuple) and all(s == 1 for s in size))
        return tuple(range(rank - spatial, rank)) if ones else None
    if node.op in LOSSES:
        return tuple(range(rank))
    dim = node.kwargs.get("dim")
    if isinstance(dim, int) and not isinstance(dim, bool):
        return (dim % rank,)
    return dim if isinstance(dim, tuple) else None  # type: ignore[return-value]


def domain_of(graph: Graph, node: Node) -> Domain | None:
    """The Domain that a reduction sets for its region, not yet tied to an input."""
    rows = row_shape(graph, node)
    first = node.args[0]
    if rows is None or not isinstance(first, TensorRef):
        return None
    shape = graph.value(first.id).type.shape
    return Domain(first.id, shape, rows.outer, rows.length, rows.inner, rows.axes, rows.groups)


def lower_reduction(low: Scope, node: Node) -> None:
    """Append the lines of `node`. Raises NotLowerable where its rows are not those of the domain."""
    first = node.args[0]
    rows = row_shape(low.graph, node)
    if rows is None or not isinstance(first, TensorRef):
        raise NotLowerable(f"{node.op} over dims that do not lie side by side.", node)
    source = low.graph.value(first.id).type
    if source.dtype == "float64" or node.kwargs.get("dtype") not in (None, source.dtype):
        raise NotLowerable(f"{node.op} with another dtype.", node)
    _check_output(low, node, source)
    known = low.known.get(first.id)
    if known is not None and known.level == ROW:
        _reduce_single(low, node, rows)
        return
    if (rows.outer, rows.length, rows.inner) != (low.domain.outer, low.domain.length, low.domain.inner):
        raise NotLowerable(f"{node.op} runs over other rows than the rest.", node)
    x = low.operand(first.id, ELEMENT, source.shape, node)
    if x.level != ELEMENT:
        raise NotLowerable(f"{node.op} of a number.", node)
    text = f"{x.text}.to(tl.float32)" if x.kind == "bool" else x.text
    _EMITTERS[node.op](low, node, text, [x.text])


def _check_output(low: Scope, node: Node, source: TensorType) -> None:
    dtype = low.graph.value(node.outputs[0]).type.dtype
    if node.op in ("argmax", "argmin"):
        return
    if dtype not in ("float32", "float16", "bfloat16"):
        raise NotLowerable(f"{node.op} computes in {dtype}.", node)
    unused = [v for v in node.outputs[1:] if v in low.graph.outputs]
    unused += [
        v for n in low.graph.nodes for a in n.args if isinstance(a, TensorRef) for v in [a.id] if v in node.outputs[1:]
    ]
    if unused:
        raise NotLowerable(f"The indices of {node.op} are used.", node)


def _reduce_single(low: Scope, node: Node, rows: RowShape) -> None:
    """Over a dim of size 1, which an earlier reduction has left, most reductions change nothing."""
    same = ("sum", "mean", "max", "min", "amax", "amin", "logsumexp")
    first = node.args[0]
    if rows.length != 1 or node.op not in same or not isinstance(first, TensorRef):
        raise NotLowerable(f"{node.op} reduces what was reduced before.", node)
    known = low.known[first.id]
    low.known[node.outputs[0]] = Known(known.text, ROW, low.graph.value(node.outputs[0]).type.shape)


Emit = Callable[[Scope, Node, str, list[str]], None]


def _sum(low: Scope, node: Node, x: str, uses: list[str]) -> None:
    low.finish(node, low.line("row_sum", x, ROW, uses, reduce="sum"), ROW)


def _mean(low: Scope, node: Node, x: str, uses: list[str]) -> None:
    total = low.line("row_sum", x, ROW, uses, reduce="sum")
    low.finish(node, low.line("mean", f"{total} / length", ROW, [total]), ROW)


def _extreme(kind: str) -> Emit:
    def emit(low: Scope, node: Node, x: str, uses: list[str]) -> None:
        low.helpers[f"nan_{kind}"] = None
        low.finish(node, low.line(f"row_{kind}", x, ROW, uses, reduce=f"nan_{kind}"), ROW)

    return emit


def _softmax(low: Scope, node: Node, x: str, uses: list[str]) -> None:
    if node.op == "softmin":
        x = low.line("negated", f"-{x}", ELEMENT, uses)
        uses = [x]
    highest = low.line("row_max", x, ROW, uses, reduce="max", tag="online")
    shifted = low.line("shifted", f"{x} - {highest}", ELEMENT, [*uses, highest])
    exponential = low.line("exponential", f"tl.exp({shifted})", ELEMENT, [shifted], tag="online")
    total = low.line("exp_sum", exponential, ROW, [exponential], reduce="sum", tag="online")
    if node.op == "log_softmax":
        log_total = low.line("log_exp_sum", f"tl.log({total})", ROW, [total])
        out = low.line("log_softmax_out", f"{shifted} - {log_total}", ELEMENT, [shifted, log_total])
    else:
        out = low.line("softmax_out", f"{exponential} / {total}", ELEMENT, [exponential, total])
    low.finish(node, out, ELEMENT)


def _logsumexp(low: Scope, node: Node, x: str, uses: list[str]) -> None:
    highest = low.line("row_max", x, ROW, uses, reduce="max", tag="online_finite")
    # An infinite maximum is not subtracted: inf - inf would be NaN where the answer is inf.
    finite = low.line("finite_max", f'tl.where(tl.abs({highest}) == float("inf"), 0.0, {highest})', ROW, [highest])
    exponential = low.line("exponential", f"tl.exp({x} - {finite})", ELEMENT, [*uses, finite])
    total = low.line("exp_sum", exponential, ROW, [exponential], reduce="sum")
    low.finish(node, low.line("logsumexp_out", f"tl.log({total}) + {finite}", ROW, [total, finite]), ROW)


def _variance(low: Scope, node: Node, x: str, uses: list[str]) -> None:
    correction = node.kwargs.get("correction", 1)
    divisor = "length" if correction == 0 else f"(length - {correction})"
    _, variance = moments(low, x, uses, divisor)
    if node.op == "std":
        variance = low.line("deviation", f"tl.sqrt_rn({variance})", ROW, [variance])
    low.finish(node, variance, ROW)


def _norm(low: Scope, node: Node, x: str, uses: list[str]) -> None:
    low.finish(node, _norm_row(low, node, x, uses), ROW)


def _norm_row(low: Scope, node: Node, x: str, uses: list[str]) -> str:
    p = node.kwargs.get("p")
    if p in (2, 2.0, "fro", None):
        squares = low.line("square_sum", f"{x} * {x}", ROW, uses, reduce="sum")
        return low.line("norm", f"tl.sqrt_rn({squares})", ROW, [squares])
    if p in (1, 1.0):
        return low.line("norm", f"tl.abs({x})", ROW, uses, reduce="sum")
    if p == math.inf:
        low.helpers["nan_max"] = None
        return low.line("norm", f"tl.abs({x})", ROW, uses, reduce="nan_max")
    raise NotLowerable(f"The norm with p={p} has no Triton form here.", node)


def _normalize(low: Scope, node: Node, x: str, uses: list[str]) -> None:
    norm = _norm_row(low, node, x, uses)
    eps = low.option(node, "eps")
    bounded = low.line("bounded", f"tl.where({norm} < {eps}, {eps}, {norm})", ROW, [norm])
    low.finish(node, low.line("normalized", f"{x} / {bounded}", ELEMENT, [*uses, bounded]), ELEMENT)


def _arg(kind: str) -> Emit:
    def emit(low: Scope, node: Node, x: str, uses: list[str]) -> None:
        if len(node.kwargs.get("dim", ())) != 1 or len(uses) != 1:  # type: ignore[arg-type]
            raise NotLowerable(f"{node.op} over several dims.", node)
        low.helpers[f"nan_{kind}"] = None
        low.finish(node, low.line(f"arg{kind}", x, ROW, uses, reduce=f"arg{kind}", kind="int"), ROW)

    return emit


_EMITTERS: dict[str, Emit] = {
    "sum": _sum,
    "mean": _mean,
    "adaptive_avg_pool1d": _mean,
    "adaptive_avg_pool2d": _mean,
    "adaptive_avg_pool3d": _mean,
    "max": _extreme("max"),
    "amax": _extreme("max"),
    "min": _extreme("min"),
    "amin": _extreme("min"),
    "logsumexp": _logsumexp,
    "softmax": _softmax,
    "log_softmax": _softmax,
    "softmin": _softmax,
    "layer_norm": normalisation,
    "group_norm": normalisation,
    "instance_norm": normalisation,
    "rms_norm": rms_norm,
    "var": _variance,
    "std": _variance,
    "norm": _norm,
    "vector_norm": _norm,
    "normalize": _normalize,
    "argmax": _arg("max"),
    "argmin": _arg("min"),
    **dict.fromkeys(LOSSES, loss),
}
