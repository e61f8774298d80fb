"""Reductions and losses: the folds of a row's meaning, over dims of the operand and over all that is left of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kernelwright.nest import reshapes
from kernelwright.nest.form import Element, Extent, Fold
from kernelwright.nest.index import Index, constant, variable
from kernelwright.nest.pointwise import substituted
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops import Over, Row, Steps, row
from kernelwright.ops.expression import Apply, Const, Expr, Var, parse
from kernelwright.ops.monoids import AT, MONOIDS, PARTS, TOTAL
from kernelwright.ops.primitives import is_boolean
from kernelwright.values import Argument, Node, TensorRef

if TYPE_CHECKING:
    from kernelwright.nest.build import Builder

Place = tuple[Index, ...]
_FLOATS = frozenset({"float32", "float16", "bfloat16"})


def reduced(builder: Builder, node: Node, known: Row, result: int, index: Place) -> Element:
    """The element of a reduction's `result`, one of its outputs, at `index`. Raises NotExpressible."""
    source = _source(builder, node)
    given = {n: ... if isinstance(a, TensorRef) else a for n, a in builder.arguments(node).items()}
    steps = known.meaning(given) if callable(known.meaning) else known.meaning
    if result != node.outputs[0]:
        steps = known.second
    if steps is None or isinstance(steps, str):
        raise NotExpressible(f"{node.op} with these options has no form here.", node)
    if given.get("dtype") not in (None, builder.graph.value(source.id).type.dtype):
        raise NotExpressible(f"{node.op} with another dtype has no form here.", node)
    dims = reduced_dims(builder, node, known)
    if builder.given.rows and known.of_one and all(builder.graph.value(source.id).type.shape[d] == 1 for d in dims):
        return builder.element(source.id, _within(builder, node, source, dims, index))
    element = _Reduction(builder, node, steps, source, dims).result(index)
    builder.say(node.op)
    return element


def _within(builder: Builder, node: Node, source: TensorRef, dims: tuple[int, ...], index: Place) -> Place:
    """The place in the operand of a reduction over dims of size 1."""
    rank = len(builder.graph.value(source.id).type.shape)
    if len(index) == rank:
        return index
    kept = iter(index)
    return tuple(Index() if d in dims else next(kept) for d in range(rank))


def along_rows(builder: Builder, node: Node, known: Row, index: Place) -> Element:
    """The element of a normalisation over rows at `index`. Raises NotExpressible."""
    source = _source(builder, node)
    given = {n: ... if isinstance(a, TensorRef) else a for n, a in builder.arguments(node).items()}
    steps = known.meaning(given) if callable(known.meaning) else known.meaning
    dtype = builder.graph.value(source.id).type.dtype
    if steps is None or isinstance(steps, str) or given.get("dtype") not in (None, dtype):
        raise NotExpressible(f"{node.op} with these options has no form here.", node)
    groups = node.args[1] if known.over is Over.GROUPS else None
    dims = tuple(range(1, len(index))) if groups is not None else reduced_dims(builder, node, known)
    some = None
    if isinstance(groups, int):
        some = Extent(groups, builder.whole_number(node, "num_groups", groups).text())
    element = _Reduction(builder, node, steps, source, dims, some).step(steps[-1].name, index)
    builder.say(node.op)
    return element


def normalised(builder: Builder, node: Node, known: Row, index: Place) -> Element:
    """The element of a normalisation on statistics of its own at `index`; notes what it overwrites. Raises NotExpressible."""
    source = _source(builder, node)
    given = {n: ... if isinstance(a, TensorRef) else a for n, a in builder.arguments(node).items()}
    steps = known.statistics(given) if callable(known.statistics) else known.statistics
    if steps is None or isinstance(steps, str) or len(index) < 2:
        raise NotExpressible(f"{node.op} with these options has no form here.", node)
    channels = index[1].name
    whole = channels in builder.axes and builder.axes[channels].extent.captured == _channels(builder, source)
    if not whole or any(channels in set(at.names()) for d, at in enumerate(index) if d != 1):
        raise NotExpressible(f"Not all channels of {node.op} are used.", node)
    reduction = _Reduction(builder, node, steps, source, tuple(d for d in range(len(index)) if d != 1))
    element = reduction.step(steps[-1].name, index)
    place = tuple(at if d == 1 else None for d, at in enumerate(index))
    for parameter, step in known.effects:
        if step in reduction.steps:
            operand, made = reduction.arguments[parameter], reduction.step(step, place)
            assert isinstance(operand, TensorRef)
            assert isinstance(made.expr, Var)
            builder.overwrite(operand.id, made.expr.name, node)
    builder.least = max(builder.least, 2)
    builder.say(node.op)
    return element


def _channels(builder: Builder, source: TensorRef) -> int:
    return builder.graph.value(source.id).type.shape[1]


def _source(builder: Builder, node: Node) -> TensorRef:
    first = node.args[0] if node.args else None
    if not isinstance(first, TensorRef) or builder.graph.value(first.id).type.dtype not in _FLOATS:
        raise NotExpressible(f"{node.op} of these operands has no form here.", node)
    return first


def reduced_dims(builder: Builder, node: Node, known: Row) -> tuple[int, ...]:
    """The dims of the operand that the folds run over, those of `total` left out. Raises NotExpressible."""
    shape = builder.graph.value(_source(builder, node).id).type.shape
    rank = len(shape)
    match known.over:
        case Over.ALL:
            return tuple(range(rank))
        case Over.CLASSES if rank:
            return (1 if rank > 1 else 0,)
        case Over.FEATURES if rank:
            return (rank - 1,)
        case Over.LAST:
            shape_of = node.args[1]
            return tuple(range(rank - len(shape_of), rank)) if isinstance(shape_of, tuple) else (rank - 1,)
        case Over.POSITIONS if not known.spatial and rank > 2:
            return tuple(range(2, rank))
        case Over.POSITIONS if known.spatial and _is_one(builder.arguments(node).get("output_size")):
            return tuple(range(rank - known.spatial, rank))
        case Over.DIM:
            dim = builder.arguments(node).get("dim")
            if isinstance(dim, int) and not isinstance(dim, bool):
                return (dim % rank,) if rank else ()
            if isinstance(dim, tuple):
                return tuple(sorted(d % rank for d in dim if isinstance(d, int)))
            if dim is None:
                return tuple(range(rank))
    raise NotExpressible(f"{node.op} over these dims has no form here.", node)


def _is_one(size: Argument) -> bool:
    """Whether the result of a pool is a single element."""
    return size == 1 or (isinstance(size, tuple) and all(one == 1 for one in size))


def size(builder: Builder, node: Node, known: Row, dim: int) -> Index:
    """The size of the result in a dim, which is one of those that are kept."""
    source = _source(builder, node)
    rank, dims = len(builder.graph.value(source.id).type.shape), reduced_dims(builder, node, known)
    if len(builder.graph.value(node.outputs[0]).type.shape) == rank:
        return builder.sizes.of(source.id, dim) if dim not in dims else constant(1)
    kept = [d for d in range(rank) if d not in dims]
    return builder.sizes.of(source.id, kept[dim])


class _Reduction:
    """The steps of one reduction; what each of them is depends on the place in the operand.

    `groups`: the first of the dims is folded in so many groups, each apart.
    """

    def __init__(
        self,
        builder: Builder,
        node: Node,
        steps: Steps,
        source: TensorRef,
        dims: tuple[int, ...],
        groups: Extent | None = None,
    ) -> None:
        self.builder, self.node, self.source, self.dims, self.groups = builder, node, source, dims, groups
        self.steps = {step.name: step for step in steps}
        self.last = steps[-1].name
        self.shape = builder.graph.value(source.id).type.shape
        self.arguments = builder.arguments(node)

    def result(self, index: Place) -> Element:
        kept = [d for d in range(len(self.shape)) if d not in self.dims]
        if len(index) == len(self.shape):  # keepdim
            if all(self._runs_along(index[d], d) for d in self.dims):
                return self.step(self.last, index)
            index = tuple(index[d] for d in kept)
        if index and len(index) != len(kept):
            raise NotExpressible(f"{self.node.op} with such a result has no form here.", self.node)
        place: list[Index | None] = [None] * len(self.shape)
        for d, at in zip(kept, index, strict=False):
            place[d] = at
        return self.step(self.last, tuple(place))

    def step(self, name: str, place: tuple[Index | None, ...]) -> Element:
        """The value of a step at a place in the operand; dims that have been reduced are None."""
        expr = parse(self.steps[name].text)
        if isinstance(expr, Apply) and expr.function == TOTAL:
            return self._fold(name, "sum", 0, expr.arguments[0], place, self._left(place))
        if isinstance(expr, Apply) and expr.function in PARTS:
            monoid, part = PARTS[expr.function]
            return self._fold(name, monoid, part, expr.arguments[0], place, self.dims)
        return self._computed(name, expr, place)

    def _left(self, place: tuple[Index | None, ...]) -> tuple[int, ...]:
        return tuple(d for d, at in enumerate(place) if at is None and d not in self.dims)

    def _fold(
        self, name: str, monoid: str, part: int, body: Expr, place: tuple[Index | None, ...], dims: tuple[int, ...]
    ) -> Element:
        builder, inner = self.builder, list(place)
        if not dims and len(MONOIDS[monoid].carriers) == 1:
            return self._computed(name, body, place)  # of a single element it is that element
        if not dims:
            raise NotExpressible(f"{self.node.op} of a single number has no form here.", self.node)
        around = [at for d, at in enumerate(place) if at is not None and d not in dims]
        if self.groups is not None and not all(self._runs_along(place[d], d) for d in dims):
            raise NotExpressible(f"{self.node.op} of a part of the channels has no form here.", self.node)
        over: list[str] = []
        for d in dims:
            at = place[d]
            if at is None or not self._runs_along(at, d):
                at = self._new_axis(self.source.id, d, (*around, *(variable(o) for o in over)))
            over += self._axes_along(at)
            inner[d] = at
        builder.folding += over
        try:
            element = self._computed("element", body, tuple(inner))
        finally:
            del builder.folding[len(builder.folding) - len(over) :]
        if element.kind != "float":
            raise NotExpressible(f"{self.node.op} of booleans has no form here.", self.node)
        fold = Fold(monoid, element.expr, tuple(over), builder.inside, part=part, groups=self.groups)
        table = MONOIDS[monoid]
        kind = "int" if table.carriers[part] in table.whole else "float"
        return Element(Var(builder.let(name, fold, kind=kind)), kind)

    def _runs_along(self, at: Index | None, dim: int) -> bool:
        """Whether a place in a dim is the one along an axis of the result that is all of the dim: rows are folded along it."""
        if at is None or not self.builder.given.rows:
            return False
        axes = [self.builder.axes[name] for name in self._axes_along(at)]
        return bool(axes) and math.prod(axis.extent.captured for axis in axes) == self.shape[dim]

    def _axes_along(self, at: Index) -> list[str]:
        """The axes along which a place is the whole of a dim, or of several that were joined."""
        parts, _ = self.builder.joined.get(at, ((at,), ()))
        names = [part.name for part in parts]
        return names if all(name in self.builder.axes for name in names) else []  # type: ignore[return-value]

    def _new_axis(self, id_: int, d: int, around: tuple[Index, ...]) -> Index:
        """The place along a dim of a Value that is folded, where the result has no axis for it."""
        builder = self.builder
        whole = reshapes.joined_dims(builder, id_, d) if builder.given.rows else None
        if whole is None:
            extent = Extent(builder.graph.value(id_).type.shape[d], builder.sizes.of(id_, d).text())
            return builder.reduced_axis(_AXES[min(d, len(_AXES) - 1)], extent, around)
        below, dims = whole
        parts: tuple[Index, ...] = ()
        for own in dims:
            parts = (*parts, self._new_axis(below, own, (*around, *parts)))
        sizes = [builder.sizes.index(below, own) for own in dims]
        shape = builder.graph.value(below).type.shape
        return reshapes.joined(builder, parts, sizes, tuple(shape[own] for own in dims))

    def _computed(self, name: str, expr: Expr, place: tuple[Index | None, ...]) -> Element:
        """An expression of the steps' language at a place."""
        builder, node = self.builder, self.node
        elements: dict[str, Element] = {}

        def bound(part: Expr) -> Expr:
            if isinstance(part, Apply) and part.function == AT:
                key = f"{AT}{len(elements)}"
                elements[key] = self._picked(part, place)
                return Var(key)
            if isinstance(part, Apply):
                return Apply(part.function, tuple(bound(a) for a in part.arguments))
            if isinstance(part, Var):
                elements[part.name] = self._named(part.name, place)
            return part

        whole = bound(expr)
        if isinstance(whole, Var):
            return elements[whole.name]
        made = substituted(builder, node, whole, elements)
        if isinstance(made, Const | Var):
            return Element(made)
        kind = "bool" if is_boolean(whole) else "float"
        return Element(Var(builder.let(name, made, kind=kind)), kind)

    def _named(self, name: str, place: tuple[Index | None, ...]) -> Element:
        builder, node = self.builder, self.node
        if name in self.steps:
            return self.step(name, place)
        if name == "length":
            return _whole(self._length())
        if name == "machine_epsilon":
            return Element(Const(_EPSILONS[builder.graph.value(self.source.id).type.dtype]))
        if name == "items":
            return _whole(builder.count([(self.source.id, d) for d in range(len(self.shape)) if d not in self.dims]))
        if name == "batch_size":
            return _whole(builder.count([(self.source.id, 0)], name))
        argument = self.arguments.get(name)
        if isinstance(argument, TensorRef) and builder.graph.value(argument.id).type.dtype not in _FLOATS:
            own = tuple(at for d, at in enumerate(place) if d not in self.dims)
            return Element(Var(builder.whole_element(argument.id, own)), "int")  # type: ignore[arg-type]
        if isinstance(argument, TensorRef):
            return self._operand(argument, place)
        if isinstance(argument, int) and not isinstance(argument, bool) and name == "ignore_index":
            return _whole(builder.whole_number(node, name, argument))
        if isinstance(argument, int | float):
            return Element(builder.number(node, name, argument))
        raise NotExpressible(f"{node.op} with these options has no form here.", node)

    def _length(self) -> Index:
        """How many elements are folded into one."""
        builder = self.builder
        whole = builder.count([(self.source.id, d) for d in self.dims])
        if self.groups is None:
            return whole
        if whole.constant is not None:
            return Index() + whole.constant // self.groups.captured
        text = builder.sizes.names.get(whole.name or "", whole.text())
        return variable(builder.sizes.name(f"{text} // {self.groups.text}", "elements"))

    def _operand(self, operand: TensorRef, place: tuple[Index | None, ...]) -> Element:
        """The element of an operand: of the operand's shape, or of the shape that is left of it."""
        shape = self.builder.graph.value(operand.id).type.shape
        whole = tuple(at for at in place if at is not None)
        if self.builder.given.rows and len(whole) == len(place):
            beside = row(self.node.op).per_channel and operand != self.source
            own = (whole[1],) if beside else self.builder.aligned(operand.id, whole)
        elif shape == self.shape and len(whole) == len(place):
            own = whole
        else:
            own = tuple(at for d, at in enumerate(place) if d not in self.dims and at is not None)
            left = tuple(size for d, size in enumerate(self.shape) if d not in self.dims)
            if shape != left or len(own) != len(left):
                raise NotExpressible(f"{self.node.op} of tensors of several shapes has no form here.", self.node)
        return self.builder.element(operand.id, own)

    def _picked(self, part: Apply, place: tuple[Index | None, ...]) -> Element:
        """The element that the operand named second tells: of the source, or of a vector with one number for each class."""
        builder = self.builder
        of, by = (self.arguments[a.name] for a in part.arguments)  # type: ignore[union-attr]
        assert isinstance(of, TensorRef)
        assert isinstance(by, TensorRef)
        own = tuple(at for d, at in enumerate(place) if d not in self.dims)
        left = tuple(size for d, size in enumerate(self.shape) if d not in self.dims)
        if builder.graph.value(by.id).type.shape != left or any(at is None for at in own):
            raise NotExpressible(f"{self.node.op} of tensors of several shapes has no form here.", self.node)
        name = builder.whole_element(by.id, own)  # type: ignore[arg-type]
        ignored = self.arguments.get("ignore_index")
        besides = builder.whole_number(self.node, "ignore_index", ignored) if isinstance(ignored, int) else None
        inner = [Index() if at is None else at for at in place] if of == self.source else [Index()]
        dim = self.dims[0] if of == self.source else 0
        return builder.gathered(of.id, inner, dim, name, besides)


def _whole(index: Index) -> Element:
    """A whole number in an expression, which an Index may be part of."""
    return Element(index, "int")  # type: ignore[arg-type]


_AXES = ("r", "s", "t", "u", "v")
_EPSILONS = {"float32": 1.1920928955078125e-07, "float16": 0.0009765625, "bfloat16": 0.0078125}
