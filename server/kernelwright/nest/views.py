"""What views, joins and constants make of an index, and of sizes: one pair of functions for each operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelwright.nest import gathers, reshapes
from kernelwright.nest.form import Element, Expr, Held, Inside
from kernelwright.nest.index import Index, constant
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops import names, row
from kernelwright.ops.expression import Apply, Const, Var
from kernelwright.values import Argument, Node, TensorRef

if TYPE_CHECKING:
    from kernelwright.nest.build import Builder

Place = tuple[Index, ...]
OfElement = Callable[["Builder", Node, Place], Element]
OfSize = Callable[["Builder", Node, int], Index]


@dataclass(frozen=True)
class _View:
    element: OfElement
    size: OfSize


_VIEWS: dict[str, _View] = {}


def of(op: str) -> OfElement | None:
    """How an element of the operator's result is found, None for an operator that is no view."""
    return _VIEWS[op].element if op in _VIEWS else None


def is_view(op: str) -> bool:
    """Whether the operator computes nothing: elements come from elsewhere, or are a constant."""
    return op in _VIEWS


def size(op: str) -> OfSize | None:
    """The size of the result in a dim."""
    return _VIEWS[op].size if op in _VIEWS else None


def _operand(node: Node) -> TensorRef:
    first = node.args[0]
    assert isinstance(first, TensorRef)
    return first


def _shape(builder: Builder, id_: int) -> tuple[int, ...]:
    return builder.graph.value(id_).type.shape


# Dims in another order, or with dims of size 1 put in or left out


def _dims(builder: Builder, node: Node) -> tuple[int | None, ...]:
    """For each dim of the operand the dim of the result that it is; None for one of size 1 that is not kept."""
    shape = _shape(builder, _operand(node).id)
    rank = len(shape)
    match node.op:
        case "permute":
            order = [d % rank for d in _whole(node, "dims")]
            return tuple(order.index(d) for d in range(rank))
        case "transpose":
            a, b = (_whole(node, name)[0] % rank for name in ("dim0", "dim1"))
            return tuple({a: b, b: a}.get(d, d) for d in range(rank))
        case "t":
            return tuple(range(rank))[::-1]
    # Dims of size 1 come or go: the others keep their order.
    result = _shape(builder, node.outputs[0])
    kept = [d for d, length in enumerate(result) if length != 1]
    if [result[d] for d in kept] != [length for length in shape if length != 1]:
        raise NotExpressible(f"{node.op} joins or splits dims.", node)
    return tuple(None if length == 1 else kept.pop(0) for length in shape)


def _whole(node: Node, name: str) -> tuple[int, ...]:
    value: Argument = node.kwargs[name]
    given = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(one, int) for one in given):
        raise NotExpressible(f"{node.op} with dims that are not known.", node)
    return given  # type: ignore[return-value]


def _joins(builder: Builder, node: Node) -> bool:
    """Whether the view joins or splits dims, along which rows are folded."""
    sizes = ([s for s in _shape(builder, v) if s != 1] for v in (node.tensor(), node.outputs[0]))
    return builder.given.rows and row(node.op).reshapes and next(sizes) != next(sizes)


def _moved(builder: Builder, node: Node, index: Place) -> Element:
    if _joins(builder, node):
        return builder.element(_operand(node).id, reshapes.place(builder, node, index))
    places = (constant(0) if d is None else index[d] for d in _dims(builder, node))
    return builder.element(_operand(node).id, tuple(places))


def _moved_size(builder: Builder, node: Node, dim: int) -> Index:
    if _joins(builder, node):
        return reshapes.size(builder, node, dim)
    dims = _dims(builder, node)
    return builder.sizes.of(_operand(node).id, dims.index(dim)) if dim in dims else constant(1)


_MOVED = _View(_moved, _moved_size)
_VIEWS["permute"] = _VIEWS["transpose"] = _VIEWS["t"] = _MOVED
_VIEWS |= dict.fromkeys(names(lambda row: row.reshapes), _MOVED)


# Broadcasts


def _spread(builder: Builder, node: Node, index: Place) -> Element:
    first = _operand(node)
    return builder.element(first.id, builder.aligned(first.id, index))


def _spread_size(builder: Builder, node: Node, dim: int) -> Index:
    first, result = _operand(node), _shape(builder, node.outputs[0])
    shape = _shape(builder, first.id)
    own = dim - len(result) + len(shape)
    if own >= 0 and shape[own] == result[dim]:
        return builder.sizes.of(first.id, own)
    raise NotExpressible(f"The size that {node.op} asks for does not follow from its operand.", node)


_VIEWS["expand"] = _VIEWS["expand_as"] = _View(_spread, _spread_size)


# The other way round, and parts


def _flipped(builder: Builder, node: Node, index: Place) -> Element:
    first = _operand(node)
    given = node.args[1] if len(node.args) > 1 else node.kwargs.get("dims")
    dims = given if isinstance(given, tuple) else (given,)
    wanted = {d % len(index) for d in dims if isinstance(d, int)}
    places = (builder.sizes.index(first.id, d) - 1 - place if d in wanted else place for d, place in enumerate(index))
    return builder.element(first.id, tuple(places))


def _same_size(builder: Builder, node: Node, dim: int) -> Index:
    return builder.sizes.of(_operand(node).id, dim)


_VIEWS["flip"] = _View(_flipped, _same_size)


@dataclass(frozen=True)
class _Cut:
    """What a subscript takes of one dim of the operand, from `start` on, which counts from the end where it is negative.

    It is all but `left` elements, or `many`; where both are None it is one element, whose dim goes.
    """

    start: int
    left: int | None = None
    many: int | None = None

    @property
    def alone(self) -> bool:
        return self.left is None and self.many is None


def _cuts(builder: Builder, node: Node) -> tuple[_Cut | None, ...]:
    """A _Cut for each dim of the operand; None stands for a new dim of size 1."""
    shape = _shape(builder, _operand(node).id)
    subscript = node.kwargs.get("index")
    items = list(subscript) if isinstance(subscript, tuple) and subscript[:1] != ("slice",) else [subscript]
    used = sum(item is not None and item != "..." for item in items)
    if "..." in items:
        at = items.index("...")
        items[at : at + 1] = [("slice", None, None, None)] * (len(shape) - used)
    else:
        items += [("slice", None, None, None)] * (len(shape) - used)
    sizes = iter(shape)
    return tuple(None if item is None else _cut(node, item, next(sizes)) for item in items)


def _cut(node: Node, item: object, length: int) -> _Cut:
    match item:
        case int() if not isinstance(item, bool):
            return _Cut(item)
        case ("slice", int() | None as start, int() | None as stop, None | 1):
            start, stop = start or 0, stop or 0
            if start >= 0 >= stop and start - stop < length:
                return _Cut(start, left=start - stop)
            if -length <= start < stop <= 0:
                return _Cut(start, many=stop - start)
    raise NotExpressible("This subscript has no form here.", node)


def _taken(builder: Builder, node: Node, index: Place) -> Element:
    if gathers.picks(node):
        return gathers.subscripted(builder, node, index)
    places, given = list[Index](), iter(index)
    first = _operand(node)
    for cut in _cuts(builder, node):
        if cut is None:
            next(given)
            continue
        start = _start(builder, first.id, len(places), cut)
        places.append(start if cut.alone else next(given) + start)
    return builder.element(first.id, tuple(places))


def _start(builder: Builder, id_: int, dim: int, cut: _Cut) -> Index:
    """The first place that is taken; the launcher insists on its being there."""
    size = builder.sizes.of(id_, dim)
    least = cut.start + 1 if cut.start >= 0 else -cut.start
    if cut.left is None and size.constant is None:
        builder.needs[f"{size.text()} < {least}", f"{size.text()} of {least} or more"] = None
    return constant(cut.start) if cut.start >= 0 else builder.sizes.index(id_, dim) + cut.start


def _taken_size(builder: Builder, node: Node, dim: int) -> Index:
    if gathers.picks(node):
        return gathers.subscripted_size(builder, node, dim)
    found: list[Index] = []
    own = 0
    for cut in _cuts(builder, node):
        if cut is None:
            found.append(constant(1))
            continue
        if cut.many is not None:
            found.append(constant(cut.many))
        elif cut.left is not None:
            found.append(builder.sizes.of(_operand(node).id, own) - cut.left)
        own += 1
    return found[dim]


_VIEWS["getitem"] = _View(_taken, _taken_size)


def _selected(builder: Builder, node: Node, index: Place) -> Element:
    first, (dim,), (number,) = _operand(node), _whole(node, "dim"), _whole(node, "index")
    dim %= len(index) + 1
    at = builder.whole_number(node, "index", number)
    if number < 0:
        at = at + builder.sizes.index(first.id, dim)
    return builder.element(first.id, (*index[:dim], at, *index[dim:]))


def _selected_size(builder: Builder, node: Node, dim: int) -> Index:
    (gone,) = _whole(node, "dim")
    rank = len(_shape(builder, _operand(node).id))
    return builder.sizes.of(_operand(node).id, dim + 1 if dim >= gone % rank else dim)


def _narrowed(builder: Builder, node: Node, index: Place) -> Element:
    (dim,), (start,) = _whole(node, "dim"), _whole(node, "start")
    if start < 0:
        raise NotExpressible(f"{node.op} that counts from the end has no form here.", node)
    at = dim % len(index)
    place = index[at] + builder.whole_number(node, "start", start)
    return builder.element(_operand(node).id, (*index[:at], place, *index[at + 1 :]))


def _narrowed_size(builder: Builder, node: Node, dim: int) -> Index:
    (own,), (length,) = _whole(node, "dim"), _whole(node, "length")
    if dim != own % len(_shape(builder, node.outputs[0])):
        return builder.sizes.of(_operand(node).id, dim)
    return builder.whole_number(node, "length", length)


_VIEWS["select"] = _View(_selected, _selected_size)
_VIEWS["narrow"] = _View(_narrowed, _narrowed_size)


# Triangles


def _triangle(builder: Builder, node: Node, index: Place) -> Element:
    """The element, or 0 above (tril) or below (triu) the diagonal."""
    element = builder.element(_operand(node).id, index)
    diagonal = builder.arguments(node).get("diagonal", 0)
    if not isinstance(diagonal, int) or element.kind == "bool":
        raise NotExpressible(f"{node.op} with these arguments has no form here.", node)
    row, column = index[-2:]
    below = row - column if node.op == "tril" else column - row
    offset = builder.whole_number(node, "diagonal", diagonal)
    kept = below + offset if node.op == "tril" else below - offset
    builder.say(node.op)
    held = Held((Inside(kept, constant(0), None),))
    expr = Apply("where", (held, element.expr, Const(0.0)))  # type: ignore[arg-type]
    return _element(builder, node, expr)


_VIEWS["tril"] = _VIEWS["triu"] = _View(_triangle, _same_size)


# Joins


def _joined(builder: Builder, node: Node, index: Place) -> Element:
    parts, dim = _parts(node), _join_dim(builder, node)
    place = index[dim]
    expr: Expr | None = None
    begins = [constant(0)]
    for part in parts:
        begins.append(begins[-1] + builder.sizes.index(part.id, dim))
    last = len(parts) - 1
    for number in range(last, -1, -1):
        at = place - begins[number]
        limit = begins[number + 1] - begins[number] if number < last else None
        inside = Inside(at, constant(0) if number else None, limit)
        own = (*index[:dim], at, *index[dim + 1 :])
        element = builder.under((inside,), parts[number].id, own)
        if element.kind == "bool":
            raise NotExpressible(f"{node.op} of booleans has no form here.", node)
        held = Held((Inside(inside.index, None, inside.limit),))
        expr = element.expr if expr is None else Apply("where", (held, element.expr, expr))  # type: ignore[arg-type]
    assert expr is not None
    builder.say(node.op)
    return _element(builder, node, expr)


def _parts(node: Node) -> tuple[TensorRef, ...]:
    given = node.args[0]
    if not isinstance(given, tuple) or not all(isinstance(part, TensorRef) for part in given):
        raise NotExpressible(f"{node.op} of a list that is not known.", node)
    return given  # type: ignore[return-value]


def _join_dim(builder: Builder, node: Node) -> int:
    dim = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else 0)
    assert isinstance(dim, int)
    return dim % len(_shape(builder, node.outputs[0]))


def _joined_size(builder: Builder, node: Node, dim: int) -> Index:
    sizes = [builder.sizes.of(part.id, dim) for part in _parts(node)]
    return sum(sizes[1:], sizes[0]) if dim == _join_dim(builder, node) else sizes[0]


_VIEWS["cat"] = _View(_joined, _joined_size)


# What indices pick

_VIEWS["embedding"] = _View(gathers.embedded, gathers.embedded_size)
_VIEWS["index_select"] = _View(gathers.selected, gathers.selected_size)
_VIEWS["gather"] = _View(gathers.gathered, gathers.gathered_size)


# Constants of another tensor's shape


def _constant(number: float) -> OfElement:
    def element(builder: Builder, node: Node, index: Place) -> Element:
        return _element(builder, node, Const(number))

    return element


_VIEWS["zeros_like"] = _View(_constant(0.0), _same_size)
_VIEWS["ones_like"] = _View(_constant(1.0), _same_size)


def _element(builder: Builder, node: Node, expr: Expr) -> Element:
    if isinstance(expr, Var | Const):
        return Element(expr)
    return Element(Var(builder.let(f"{node.op}_out", expr)))
