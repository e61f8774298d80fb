"""Graph nodes to a Nest: what one element of the result is, asked backwards from the result's index to the inputs."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from kernelwright.nest import channels, convolutions, pointwise, products, reductions, results, scans, views, windows
from kernelwright.nest.depends import axes_of
from kernelwright.nest.form import (
    FLOATS,
    Axis,
    Checked,
    Effect,
    Element,
    Expr,
    Extent,
    Inside,
    Let,
    Load,
    Nest,
    Stored,
    Tensor,
)
from kernelwright.nest.given import RESERVED, Given
from kernelwright.nest.index import Index, constant, variable
from kernelwright.nest.layouts import is_contiguous, order_of
from kernelwright.nest.refused import NotExpressible
from kernelwright.nest.sizes import Sizes, product_text
from kernelwright.ops import Kind, parameters, row
from kernelwright.ops.device_functions import DEVICE_FUNCTIONS
from kernelwright.ops.expression import Apply, Const, Var
from kernelwright.values import Argument, Graph, Node, TensorRef

_READABLE = frozenset(FLOATS) | {"bool"}
_INDICES = frozenset({"int64", "int32"})
_WHOLE = _INDICES | {"int16", "int8", "uint8"}
_FIXED = ("exponent", "dim")
"""Numbers that decide the form of a kernel: they stay those of the captured call."""
_REDUCE = (Kind.REDUCTION, Kind.LOSS)


def build(graph: Graph, nodes: Sequence[int], outputs: Sequence[int], given: Given, *, axes: Sequence[str]) -> Nest:
    """The Nest of the nodes with these ids, which make the Values `outputs` of one shape; `axes` name its dims.

    Raises NotExpressible with the reason.
    """
    return Builder(graph, frozenset(nodes), given).build(outputs, axes)


@dataclass
class Builder:
    graph: Graph
    nodes: frozenset[int]
    given: Given
    axes: dict[str, Axis] = field(default_factory=dict)
    tensors: dict[int, Tensor] = field(default_factory=dict)
    lets: dict[str, Let] = field(default_factory=dict)
    kept: dict[Expr, str] = field(default_factory=dict)  # the names of the lets by what they stand for
    numbered: dict[str, int] = field(default_factory=dict)  # the next number behind a base of names
    numbers: dict[str, str] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    ops: list[str] = field(default_factory=list)
    inside: tuple[Inside, ...] = ()  # what holds wherever the element that is being built is of account
    checked: tuple[Checked, ...] = ()  # what must hold there
    indexing: bool = False  # whether what is being built is an index
    effects: dict[int, Effect] = field(default_factory=dict)
    least: int = 1
    needs: dict[tuple[str, str], None] = field(default_factory=dict)  # conditions and words of the launcher
    split: dict[Index, tuple[str, str]] = field(default_factory=dict)  # places in dims of the result -> their two axes
    joined: dict[Index, tuple[tuple[Index, ...], tuple[int, ...]]] = field(
        default_factory=dict
    )  # places along several dims as one number -> those along each, and the captured sizes
    folding: list[str] = field(default_factory=list)  # the axes of the reductions around what is being built
    known: dict[tuple[object, ...], Element] = field(default_factory=dict)
    taken: set[str] = field(default_factory=lambda: set(DEVICE_FUNCTIONS) | RESERVED)

    def __post_init__(self) -> None:
        self.producers = {v: self.graph.nodes[n] for n in sorted(self.nodes) for v in self.graph.nodes[n].outputs}
        self.sizes = Sizes(self)
        self.full = results.full_shapes(self) if self.given.layouts else frozenset()

    def build(self, outputs: Sequence[int], names: Sequence[str]) -> Nest:
        output = outputs[0]
        for made in outputs:
            dtype = self.graph.value(made).type.dtype
            if dtype not in _READABLE | {"int64"}:
                raise NotExpressible(f"The result has dtype {dtype}.", self.producers[made])
        self.taken |= set(names)
        # The inputs get their names before anything else does.
        for value in self._inputs():
            self.tensor(value)
        dims, places, bounded = results.dims_of(self, output, names)
        casts = any(self.graph.nodes[n].kwargs.get("dtype") is not None for n in self.nodes)
        stored = []
        for made in outputs:
            result = self.element(made, places)
            dtype = self.graph.value(made).type.dtype
            if not isinstance(result.expr, Var):
                raise NotExpressible("The result is a constant.", self.producers[made])
            if (result.kind == "int") != (dtype == "int64"):
                raise NotExpressible(f"The result has dtype {dtype}.", self.producers[made])
            apart = places if self.split else ()
            stored.append(Stored(result.expr.name, dtype, dims, casts, apart, bounded, results.order(self, made)))
        return Nest(
            tuple(self.axes.values()),
            tuple(self.tensors.values()),
            tuple(self.lets.values()),
            stored[0],
            dict(self.numbers),
            frozenset(self.whole),
            dict(self.sizes.names),
            tuple(self.ops),
            more=tuple(stored[1:]),
            effects=tuple(self.effects.values()),
            counters=tuple(self._counter(self.graph.nodes[n]) for n in sorted(self.nodes) if self._counts(n)),
            least=self.least,
            returns=self.producers[output].op,
            needs=tuple(self.needs),
        )

    # Elements

    def element(self, id_: int, index: tuple[Index, ...]) -> Element:
        """The element of a Value at an index of one Index a dim. Raises NotExpressible."""
        key = (id_, index, self.inside, self.checked, self.indexing)
        if key not in self.known:
            node = self.producers.get(id_)
            self.known[key] = self._read(id_, index) if node is None else self._computed(node, id_, index)
        return self.known[key]

    def under(self, inside: Iterable[Inside], id_: int, index: tuple[Index, ...]) -> Element:
        """The element where the conditions `inside` hold; of no account elsewhere."""
        before = self.inside
        self.inside = tuple(dict.fromkeys((*before, *inside)))
        try:
            return self.element(id_, index)
        finally:
            self.inside = before

    def overwrite(self, id_: int, name: str, node: Node) -> None:
        """Note that an input is overwritten by a Let. Raises NotExpressible for what is no input, or has two answers."""
        if id_ in self.producers or self.effects.get(id_, Effect(self.tensor(id_).name, name)).name != name:
            raise NotExpressible(f"{node.op} overwrites what has no memory of its own.", node)
        self.effects[id_] = Effect(self.tensor(id_).name, name)

    def _counts(self, number: int) -> bool:
        """Whether a node adds one to an input that is a single whole number, and nothing reads what it answers."""
        node = self.graph.nodes[number]
        first, *rest = node.args
        adds_one = node.inplace and row(node.op).sign == "+" and rest == [1]
        return adds_one and isinstance(first, TensorRef) and not self._has(first)

    def _may_overwrite(self, node: Node) -> bool:
        """Whether what the node overwrites is of no further account."""
        return self.given.layouts or self._has(node.args[0])

    def _has(self, argument: object) -> bool:
        """Whether an argument is a result of the region's own nodes, which only the region sees."""
        return isinstance(argument, TensorRef) and argument.id in self.producers

    def _counter(self, node: Node) -> str:
        first = node.args[0]
        assert isinstance(first, TensorRef)
        type_ = self.graph.value(first.id).type
        if first.id in self.producers or type_.shape or type_.dtype not in _INDICES:
            raise NotExpressible(f"{node.op} in place has no form here.", node)
        return self.tensor(first.id).name

    def whole_element(self, id_: int, index: tuple[Index, ...]) -> str:
        """The name of an element that is used as an index. Raises NotExpressible for what is not read from memory."""
        before = self.inside, self.checked, self.indexing
        self.inside, self.checked, self.indexing = (), (), True
        try:
            found = self.element(id_, index)
        finally:
            self.inside, self.checked, self.indexing = before
        if not isinstance(found.expr, Var) or found.kind != "int":
            raise NotExpressible("The indices are no tensor of whole numbers.")
        return found.expr.name

    def gathered(self, id_: int, place: Sequence[Index], dim: int, name: str, besides: Index | None = None) -> Element:
        """The element whose index in `dim` is the whole number `name`, which is checked unless it is `besides`."""
        at = variable(name)
        inside = Inside(at, constant(0), self.sizes.index(id_, dim))
        before = self.checked
        self.checked = (*before, Checked(name, inside, besides))
        try:
            return self.under((inside,), id_, (*place[:dim], at, *place[dim + 1 :]))
        finally:
            self.checked = before

    def _read(self, id_: int, index: tuple[Index, ...]) -> Element:
        """The element of an input, with the bias where it is what a convolution makes without."""
        read = self._load(id_, index)
        if id_ not in self.given.biases:
            return read
        bias = self._load(self.given.biases[id_], (index[1],))
        self.say("add")
        return Element(Var(self.let("total", Apply("add", (read.expr, bias.expr)))))

    def _load(self, id_: int, index: tuple[Index, ...]) -> Element:
        tensor = self.tensor(id_)
        if tensor.dtype not in (_INDICES if self.indexing else self._readable):
            raise NotExpressible(f"An input has dtype {tensor.dtype}.")
        places = tuple(
            constant(0) if size == 1 and tensor.shape not in self.full else i
            for i, size in zip(index, tensor.shape, strict=True)
        )
        places = tuple(places[d] for d in tensor.order) if tensor.order else places
        load = Load(tensor.name, places, tuple((d, d + 1) for d in range(len(places))), self.inside, self.checked)
        kind = "int" if self.indexing else "bool" if tensor.dtype == "bool" else "float"
        return Element(Var(self.let(tensor.name, load, kind=kind)), kind)

    def _computed(self, node: Node, id_: int, index: tuple[Index, ...]) -> Element:
        known = row(node.op)
        if known.statistics is not None and node.kwargs.get("training"):
            return reductions.normalised(self, node, known, index)
        if self.given.rows and known.over is not None and known.kind is Kind.NORMALISATION:
            return reductions.along_rows(self, node, known, index)
        if (node.inplace and not self._may_overwrite(node)) or (len(node.outputs) > 1 and not known.second):
            raise NotExpressible(f"{node.op} with several results, or in place, has no form here.", node)
        if known.fold and known.kind is Kind.SCAN:
            return scans.scanned(self, node, known, index)
        if known.fold and known.kind is Kind.POOLING:
            return windows.pooled(self, node, known, index)
        if known.over is not None and (known.kind in _REDUCE or self.given.rows):
            return reductions.reduced(self, node, known, id_, index)
        if known.kind is Kind.CONVOLUTION:
            return convolutions.element(self, node, index)
        if known.multiplies:
            return products.product(self, node, index)
        if known.per_channel and self.given.layouts:
            return channels.computed(self, node, known, index)
        if view := views.of(node.op):
            return view(self, node, index)
        if isinstance(known.meaning, str) or (callable(known.meaning) and known.over is None):
            return pointwise.computed(self, node, known, index)
        raise NotExpressible(f"{node.op} has no form here.", node)

    # What the parts of the builder share

    def let(self, base: str, expr: Expr, *, kind: str = "float") -> str:
        """The name under which `expr` is kept, once however often it is asked for."""
        if expr in self.kept:
            return self.kept[expr]
        name = self.fresh(base) if base not in self.input_names or base in self.lets else base
        self.lets[name] = Let(name, expr, axes_of(expr, self.lets, self.axes), kind)
        self.kept[expr] = name
        return name

    @property
    def input_names(self) -> set[str]:
        return {tensor.name for tensor in self.tensors.values()}

    def fresh(self, base: str) -> str:
        """A name that nothing has yet."""
        name, number = base, self.numbered.get(base, 2)
        while name in self.taken:
            name, number = f"{base}_{number}", number + 1
        self.numbered[base] = number
        self.taken.add(name)
        return name

    def reduced_axis(self, base: str, extent: Extent, place: Collection[Index] = ()) -> Index:
        """An axis that is folded: one that there is already where that has the same extent and is not around this."""
        around = {name for index in place for name in index.names()} | set(() if self.given.rows else self.folding)
        for axis in self.axes.values():
            usable = axis.reduced or (self.given.rows and not axis.window)
            if usable and axis.extent == extent and axis.name not in around:
                return variable(axis.name)
        name = self.fresh(base)
        self.axes[name] = Axis(name, extent, reduced=True)
        return variable(name)

    def axis(self, base: str, extent: Extent, *, inner: bool = False) -> Index:
        """A new axis of a window, or the `inner` one of a product."""
        name = self.fresh(base)
        self.axes[name] = Axis(name, extent, window=not inner, inner=inner)
        return variable(name)

    def aligned(self, id_: int, index: tuple[Index, ...]) -> tuple[Index, ...]:
        """The index of a Value that broadcasts to what `index` is an index of."""
        shape = self.graph.value(id_).type.shape
        if shape in self.full:
            return index
        ends = index[len(index) - len(shape) :]
        if self.given.rows and id_ in self.producers:
            return ends  # a fold asks which elements of its row the place belongs to
        return tuple(constant(0) if size == 1 else i for i, size in zip(ends, shape, strict=True))

    def arguments(self, node: Node) -> dict[str, Argument]:
        """The node's arguments by name, with defaults. Raises NotExpressible for a tensor that its row does not know."""
        known, _ = parameters(node.op)
        given = dict(zip((name for name, _ in known), node.args, strict=False)) | dict(node.kwargs)
        defaults = {name: default for name, default in known if name in given or default is not ...}
        if len(node.args) > len(known) or any(
            name not in defaults and isinstance(value, TensorRef) for name, value in given.items()
        ):
            raise NotExpressible(f"{node.op} with these arguments has no form here.", node)
        return defaults | given  # type: ignore[return-value]

    def number(self, node: Node, parameter: str, value: int | float) -> Var | Const:
        """A number of the source: a literal, or a parameter of the launcher."""
        expression = self.given.numbers.get((node.id, parameter))
        if expression is None or parameter in _FIXED:
            return Const(float(value))
        return Var(self.parameter(expression, parameter))

    def literal(self, node: Node, parameter: str, argument: Argument) -> object:
        """What a meaning may decide by: ... for a tensor, the text of a number that is known at run time only."""
        if isinstance(argument, TensorRef):
            return ...
        known = isinstance(argument, int | float) and not isinstance(argument, bool) and parameter not in _FIXED
        return self.given.numbers.get((node.id, parameter), argument) if known else argument

    def whole_number(self, node: Node, parameter: str, value: int, part: str = "", name: str = "") -> Index:
        """A whole number that sizes or indices depend on; `part` takes it out of a tuple, where it is called `name`."""
        expression = self.given.numbers.get((node.id, parameter))
        if expression is None:
            return constant(value)
        name = self.parameter(f"{expression}{part}", name or parameter)
        self.whole.add(name)
        return variable(name)

    def count(self, dims: Sequence[tuple[int, int]], base: str = "elements") -> Index:
        """How many elements some dims of Values have together, as one number, called `base` where it has no name yet."""
        sizes = [self.sizes.of(value, d) for value, d in dims]
        number = math.prod(size.constant for size in sizes if size.constant is not None)
        texts = [text for size in sizes if size.constant is None for text in size.text().split(" * ")]
        if not texts:
            return constant(number)
        for tensor in self.tensors.values():
            if (
                texts == [f"{tensor.name}.shape[{d}]" for d, size in enumerate(tensor.shape) if size != 1]
                and len(texts) > 1
            ):
                return variable(self.sizes.name(f"{tensor.name}.numel()", base))
        return variable(self.sizes.name(product_text([*texts, *([str(number)] if number != 1 else [])]), base))

    def parameter(self, expression: str, fallback: str) -> str:
        for name, known in self.numbers.items():
            if known == expression:
                return name
        last = expression.rsplit(".", 1)[-1]
        name = self.fresh(last.lower().strip("_") if last.isidentifier() else fallback)
        self.numbers[name] = expression
        return name

    def say(self, op: str) -> None:
        """Note that the kernel does `op`, in order, once for each time that the graph does it."""
        biases = len(self.given.biases) if op == "add" else 0
        if self.ops.count(op) < sum(self.graph.nodes[n].op == op for n in self.nodes) + biases:
            self.ops.append(op)

    def _inputs(self) -> tuple[int, ...]:
        found: dict[int, None] = {}
        for n in sorted(self.nodes):
            node = self.graph.nodes[n]
            if row(node.op).kind is not Kind.CREATION:
                found |= dict.fromkeys(r for r in _references(node) if r not in self.producers)
        with_biases = ((value, self.given.biases.get(value)) for value in found)
        return tuple(dict.fromkeys(value for pair in with_biases for value in pair if value is not None))

    @property
    def _readable(self) -> frozenset[str]:
        return _READABLE | _WHOLE if self.given.layouts else _READABLE

    def tensor(self, id_: int) -> Tensor:
        """The input that a Value is."""
        if id_ not in self.tensors:
            type_ = self.graph.value(id_).type
            if type_.dtype not in self._readable | _INDICES:
                raise NotExpressible(f"An input has dtype {type_.dtype}.")
            order = order_of(type_) if self.given.layouts else ()
            if not order and not is_contiguous(type_):
                raise NotExpressible("An input is not contiguous.")
            name = self.fresh(self.given.names.get(id_, f"input{id_}"))
            self.tensors[id_] = Tensor(name, id_, type_.shape, type_.dtype, order)
        return self.tensors[id_]


def _references(node: Node) -> Iterable[int]:
    for argument in (*node.args, *node.kwargs.values()):
        if isinstance(argument, TensorRef):
            yield argument.id
        elif isinstance(argument, tuple):
            yield from (a.id for a in argument if isinstance(a, TensorRef))
