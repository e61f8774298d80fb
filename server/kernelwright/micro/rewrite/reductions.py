"""Reductions and normalisations as lines of a Program: sums and maxima over rows, and pointwise code around them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelwright.micro.rewrite.program import ELEMENT, ROW, Domain
from kernelwright.values import Graph, Node, TensorRef, TensorType

if TYPE_CHECKING:
    from kernelwright.micro.rewrite.lowering import Lowering


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


def lower_reduction(low: "Lowering", node: Node) -> None:
    """Append the lines of `node`. Raises NotLowerable where its rows are not those of the domain."""
    from kernelwright.micro.rewrite.lowering import NotLowerable

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


def _check_output(low: "Lowering", node: Node, source: TensorType) -> None:
    from kernelwright.micro.rewrite.lowering import NotLowerable

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


def _reduce_single(low: "Lowering", node: Node, rows: RowShape) -> None:
    """Over a dim of size 1, which an earlier reduction has left, most reductions change nothing."""
    from kernelwright.micro.rewrite.lowering import NotLowerable, _Known

    same = ("sum", "mean", "max", "min", "amax", "amin", "logsumexp")
    first = node.args[0]
    if rows.length != 1 or node.op not in same or not isinstance(first, TensorRef):
        raise NotLowerable(f"{node.op} reduces what was reduced before.", node)
    known = low.known[first.id]
    low.known[node.outputs[0]] = _Known(known.text, ROW, low.graph.value(node.outputs[0]).type.shape)


Emit = Callable[["Lowering", Node, str, list[str]], None]


def _finish(low: "Lowering", node: Node, text: str, level: str) -> None:
    from kernelwright.micro.rewrite.lowering import _Known

    low.known[node.outputs[0]] = _Known(text, level, low.graph.value(node.outputs[0]).type.shape)


def _sum(low: "Lowering", node: Node, x: str, uses: list[str]) -> None:
    _finish(low, node, low.line("row_sum", x, ROW, uses, reduce="sum"), ROW)


def _mean(low: "Lowering", node: Node, x: str, uses: list[str]) -> None:
    total = low.line("row_sum", x, ROW, uses, reduce="sum")
    _finish(low, node, low.line("mean", f"{total} / length", ROW, [total]), ROW)


def _extreme(kind: str) -> Emit:
    def emit(low: "Lowering", node: Node, x: str, uses: list[str]) -> None:
        low.helpers[f"nan_{kind}"] = None
        _finish(low, node, low.line(f"row_{kind}", x, ROW, uses, reduce=f"nan_{kind}"), ROW)

    return emit


def _softmax(low: "Lowering", node: Node, x: str, uses: list[str]) -> None:
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
    _finish(low, node, out, ELEMENT)


def _logsumexp(low: "Lowering", node: Node, x: str, uses: list[str]) -> None:
    highest = low.line("row_max", x, ROW, uses, reduce="max", tag="online_finite")
    # An infinite maximum is not subtracted: inf - inf would be NaN where the answer is inf.
    finite = low.line("finite_max", f'tl.where(tl.abs({highest}) == float("inf"), 0.0, {highest})', ROW, [highest])
    exponential = low.line("exponential", f"tl.exp({x} - {finite})", ELEMENT, [*uses, finite])
    total = low.line("exp_sum", exponential, ROW, [exponential], reduce="sum")
    _finish(low, node, low.line("logsumexp_out", f"tl.log({total}) + {finite}", ROW, [total, finite]), ROW)


def _moments(low: "Lowering", x: str, uses: list[str], divisor: str = "length") -> tuple[str, str]:
    """(centred element name, variance row name)"""
    total = low.line("row_sum", x, ROW, uses, reduce="sum", tag="moments")
    mean = low.line("mean", f"{total} / length", ROW, [total], tag="moments")
    centred = low.line("centered", f"{x} - {mean}", ELEMENT, [*uses, mean], tag="moments")
    squares = low.line("square_sum", f"{centred} * {centred}", ROW, [centred], reduce="sum", tag="moments")
    return centred, low.line("variance", f"{squares} / {divisor}", ROW, [squares])


def _normalisation(low: "Lowering", node: Node, x: str, uses: list[str]) -> None:
    centred, variance = _moments(low, x, uses)
    eps = _option(low, node, "eps")
    scale = low.line("rstd", f"tl.rsqrt({variance} + {eps})", ROW, [variance])
    out = low.line("normalized", f"{centred} * {scale}", ELEMENT, [centred, scale])
    weight, bias = (node.args[2], node.args[3]) if node.op != "instance_norm" else (node.args[3], node.args[4])
    _finish(low, node, _affine(low, node, out, weight, bias), ELEMENT)


def _affine(low: "Lowering", node: Node, out: str, weight: object, bias: object) -> str:
    shape = low.graph.value(node.outputs[0]).type.shape
    channels = node.op != "layer_norm" and node.op != "rms_norm"
    for argument, sign, name in ((weight, "*", "scaled"), (bias, "+", "biased")):
        if not isinstance(argument, TensorRef):
            continue
        operand = (
            _channel_operand(low, argument.id, shape, node)
            if channels
            else low.operand(argument.id, ELEMENT, shape, node)
        )
        out = low.line(name, f"{out} {sign} {operand.text}", ELEMENT, [out, operand.text])
    return out


def _channel_operand(low: "Lowering", id_: int, shape: tuple[int, ...], node: Node):
    """A vector of one number per channel (dim 1) beside a tensor of `shape`."""
    from kernelwright.micro.rewrite.lowering import _Known, is_contiguous
    from kernelwright.micro.rewrite.program import Operand, Term

    value = low.graph.value(id_)
    if not is_contiguous(value.type):
        from kernelwright.micro.rewrite.lowering import NotLowerable

        raise NotLowerable("An input is not contiguous.", node)
    inner = 1 if low.domain.layout == "channels_last" else math.prod(shape[2:])
    last = -1 if low.domain.layout == "channels_last" else len(shape) - 2
    terms = (Term(inner, shape[1], 1, last),)
    key = (id_, (terms, ELEMENT))
    if key not in low.operands:
        name = low.fresh(low.names.get(id_, f"input{id_}"))
        low.operands[key] = Operand(name, id_, ELEMENT, value.type.dtype, terms, ((0, 1),), value.type.shape)
    return _Known(low.operands[key].name, ELEMENT, shape)


def _option(low: "Lowering", node: Node, name: str) -> str:
    value = node.kwargs.get(name)
    return low.number(node, name, value if isinstance(value, int | float) else 1e-5)[0]


def _rms_norm(low: "Lowering", node: Node, x: str, uses: list[str]) -> None:
    squares = low.line("square_sum", f"{x} * {x}", ROW, uses, reduce="sum")
    eps = node.kwargs.get("eps")
    if eps is None:
        dtype = low.graph.value(node.outputs[0]).type.dtype
        text = repr({"float32": 1.1920928955078125e-07, "float16": 0.0009765625, "bfloat16": 0.0078125}[dtype])
    else:
        text = _option(low, node, "eps")
    scale = low.line("rrms", f"tl.rsqrt({squares} / length + {text})", ROW, [squares])
    out = low.line("normalized", f"{x} * {scale}", ELEMENT, [*uses, scale])
    _finish(low, node, _affine(low, node, out, node.args[2], None), ELEMENT)


def _variance(low: "Lowering", node: Node, x: str, uses: list[str]) -> None:
    correction = node.kwargs.get("correction", 1)
    divisor = "length" if correction == 0 else f"(length - {correction})"
    _, variance = _moments(low, x, uses, divisor)
    if node.op == "std":
        variance = low.line("deviation", f"tl.sqrt_rn({variance})", ROW, [variance])
    _finish(low, node, variance, ROW)


def _norm(low: "Lowering", node: Node, x: str, uses: list[str]) -> None:
    _finish(low, node, _norm_row(low, node, x, uses), ROW)


def _norm_row(low: "Lowering", node: Node, x: str, uses: list[str]) -> str:
    from kernelwright.micro.rewrite.lowering import NotLowerable

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


def _normalize(low: "Lowering", node: Node, x: str, uses: list[str]) -> None:
    norm = _norm_row(low, node, x, uses)
    eps = _option(low, node, "eps")
    bounded = low.line("bounded", f"tl.where({norm} < {eps}, {eps}, {norm})", ROW, [norm])
    _finish(low, node, low.line("normalized", f"{x} / {bounded}", ELEMENT, [*uses, bounded]), ELEMENT)


def _arg(kind: str) -> Emit:
    def emit(low: "Lowering", node: Node, x: str, uses: list[str]) -> None:
        from kernelwright.micro.rewrite.lowering import NotLowerable

        if len(node.kwargs.get("dim", ())) != 1 or len(uses) != 1:  # type: ignore[arg-type]
            raise NotLowerable(f"{node.op} over several dims.", node)
        low.helpers[f"nan_{kind}"] = None
        _finish(low, node, low.line(f"arg{kind}", x, ROW, uses, reduce=f"arg{kind}", kind="int"), ROW)

    return emit


LOSSES = frozenset({"mse_loss", "smooth_l1_loss", "huber_loss", "kl_div"})


def _loss(low: "Lowering", node: Node, x: str, uses: list[str]) -> None:
    from kernelwright.micro.rewrite.lowering import NotLowerable

    target, reduction = node.args[1], node.kwargs.get("reduction")
    if not isinstance(target, TensorRef) or reduction not in ("mean", "sum", "batchmean"):
        raise NotLowerable(f"{node.op} with reduction={reduction!r} has no Triton form here.", node)
    shape = low.graph.value(node.args[0].id).type.shape  # type: ignore[union-attr]
    y = low.operand(target.id, ELEMENT, shape, node).text
    both = [*uses, y]
    if node.op == "kl_div":
        if node.kwargs.get("log_target"):
            loss = low.line("loss", f"tl.exp({y}) * ({y} - {x})", ELEMENT, both)
        else:
            # As torch.xlogy has it: where the target is 0 the logarithm does not count.
            entropy = low.line("entropy", f"tl.where({y} == 0.0, 0.0, {y} * tl.log({y}))", ELEMENT, [y])
            loss = low.line("loss", f"{entropy} - {y} * {x}", ELEMENT, [*both, entropy])
    else:
        difference = low.line("difference", f"{x} - {y}", ELEMENT, both)
        loss = low.line("loss", _loss_text(low, node, difference), ELEMENT, [difference])
    total = low.line("loss_sum", loss, ROW, [loss], reduce="sum")
    if reduction == "mean":
        total = low.line("mean_loss", f"{total} / length", ROW, [total])
    if reduction == "batchmean":
        total = low.line("mean_loss", f"{total} / {_batch(low, node, target.id)}", ROW, [total])
    _finish(low, node, total, ROW)


def _batch(low: "Lowering", node: Node, target: int) -> str:
    """The size of the first dim as a number that the launcher is given."""
    from kernelwright.micro.rewrite.lowering import NotLowerable

    text = "target" if low.texts is None else low.texts.get(target, "")
    if not text.isidentifier():
        raise NotLowerable(f"The batch size of {node.op} has no name in the source.", node)
    name = low.fresh("batch_size")
    low.scalars[name] = f"{text}.shape[0]"
    return name


def _loss_text(low: "Lowering", node: Node, difference: str) -> str:
    if node.op == "mse_loss":
        return f"{difference} * {difference}"
    name = "beta" if node.op == "smooth_l1_loss" else "delta"
    limit = low.number(node, name, node.kwargs[name])[0]  # type: ignore[arg-type]
    size = low.line("distance", f"tl.abs({difference})", ELEMENT, [difference])
    if node.op == "smooth_l1_loss":
        return f"tl.where({size} < {limit}, 0.5 * {size} * {size} / {limit}, {size} - 0.5 * {limit})"
    return f"tl.where({size} <= {limit}, 0.5 * {size} * {size}, {limit} * ({size} - 0.5 * {limit}))"


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
    "layer_norm": _normalisation,
    "group_norm": _normalisation,
    "instance_norm": _normalisation,
    "rms_norm": _rms_norm,
    "var": _variance,
    "std": _variance,
    "norm": _norm,
    "vector_norm": _norm,
    "normalize": _normalize,
    "argmax": _arg("max"),
    "argmin": _arg("min"),
    **dict.fromkeys(LOSSES, _loss),
}


def lower_batch_norm(low: "Lowering", node: Node) -> None:
    """Batch norm on running statistics: pointwise, with four numbers per channel."""
    from kernelwright.micro.rewrite.lowering import NotLowerable, _Known

    first, running_mean, running_var, weight, bias = node.args[:5]
    if not all(isinstance(a, TensorRef) for a in (first, running_mean, running_var)):
        raise NotLowerable("batch_norm without running statistics.", node)
    shape = low.graph.value(node.outputs[0]).type.shape
    if math.prod(shape) != low.domain.numel:
        raise NotLowerable("batch_norm works on another shape than the rest.", node)
    x = low.operand(first.id, ELEMENT, shape, node)  # type: ignore[union-attr]
    mean = _channel_operand(low, running_mean.id, shape, node)  # type: ignore[union-attr]
    variance = _channel_operand(low, running_var.id, shape, node)  # type: ignore[union-attr]
    eps = _option(low, node, "eps")
    rstd = low.line("rstd", f"tl.rsqrt({variance.text} + {eps})", ELEMENT, [variance.text])
    out = low.line("normalized", f"({x.text} - {mean.text}) * {rstd}", ELEMENT, [x.text, mean.text, rstd])
    low.known[node.outputs[0]] = _Known(_affine(low, node, out, weight, bias), ELEMENT, shape)
