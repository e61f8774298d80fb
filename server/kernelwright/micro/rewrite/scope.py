"""What is known while a region is lowered: the inputs loaded, the numbers named, the lines written so far."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import EllipsisType

from kernelwright.micro.rewrite.program import ELEMENT, ROW, SCALAR, Domain, Line, Operand, Term
from kernelwright.nest.layouts import CHANNELS_LAST, contiguous_strides, is_channels_last, is_contiguous
from kernelwright.ops import signature
from kernelwright.ops.device_functions import DEVICE_FUNCTIONS
from kernelwright.values import Argument, Graph, Node, Refusal, TensorRef, TensorType

FLOATS = frozenset({"float32", "float16", "bfloat16"})
_OTHERS = frozenset({"bool", "int64", "int32", "int16", "int8", "uint8"})
# Names that printed kernels and launchers use themselves.
_OWN = frozenset(
    {"out", "mask", "row", "rows", "offsets", "columns", "positions", "position", "channel", "channels_last", "contiguous",
     "item", "plane", "results", "corner", "front", "top", "left", "h", "i", "j", "tiles", "strips", "outer", "inner",
     "length", "spatial", "n_rows", "n_elements", "n_results", "window", "shape", "start", "step", "last", "begin", "end",
     "part", "parts", "partial", "chunk", "count", "steps", "delta", "value", "decay", "lane_max", "lane_sum", "lane_mean",
     "lane_count", "lane_squares", "best", "place", "better", "extreme", "found", "grid"}
)  # fmt: skip


class NotLowerable(Exception):
    """The region cannot become one kernel; the message is for the user."""

    def __init__(self, reason: str, node: Node | None = None) -> None:
        super().__init__(reason)
        self.line = node.where.start_line if node and node.where else None

    @property
    def refusal(self) -> Refusal:
        return Refusal(str(self), self.line)


@dataclass(frozen=True)
class Known:
    """A value made inside the region: a name in the kernel, or a literal."""

    text: str
    level: str
    shape: tuple[int, ...]
    kind: str = "float"
    literal: Argument | EllipsisType = ...  # ... where the value is not known before the run


@dataclass
class Scope:
    """The lines, operands and scalar parameters of a Program in the making, and where each Value is to be found."""

    graph: Graph
    domain: Domain
    names: Mapping[int, str] = field(default_factory=dict)  # input Value -> how the kernel calls it
    scalar_texts: Mapping[tuple[int, str], str] = field(default_factory=dict)
    texts: Mapping[int, str] | None = None  # input Value -> its expression in the source; None while only trying
    known: dict[int, Known] = field(default_factory=dict)
    operands: dict[tuple[int, object], Operand] = field(default_factory=dict)
    scalars: dict[str, str] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    helpers: dict[str, None] = field(default_factory=dict)
    ops: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=lambda: set(DEVICE_FUNCTIONS) | _OWN)

    def number(self, node: Node, name: str, value: int | float) -> tuple[str, int | float | str]:
        """A number as the kernel writes it: a literal, or the name of a scalar parameter."""
        expression = self.scalar_texts.get((node.id, name))
        if expression is None or (node.op == "pow" and name == "exponent") or name in ("alpha_", "dim"):
            return literal_text(value), value
        parameter = self._scalar_name(expression, name)
        self.scalars[parameter] = expression
        return parameter, parameter  # runtime scalars decide nothing

    def _scalar_name(self, expression: str, fallback: str) -> str:
        for name, known in self.scalars.items():
            if known == expression:
                return name
        last = expression.rsplit(".", 1)[-1]
        base = last.lower().strip("_") if last.isidentifier() else fallback
        return self.fresh(base)

    def operand(self, id_: int, level: str, shape: tuple[int, ...], node: Node) -> Known:
        """The value `id_` as an argument of a node at `level` whose result has `shape`."""
        if id_ in self.known:
            known = self.known[id_]
            if known.level == SCALAR or known.level == level == ELEMENT:
                if known.level == ELEMENT and math.prod(known.shape) != math.prod(shape):
                    raise NotLowerable(f"{node.op} broadcasts to a larger tensor.", node)
                return known
            if known.level == level:
                return known
            if known.level == ROW and self._spreads(known.shape, shape):
                return known
            raise NotLowerable(f"{node.op} mixes rows and elements in another way.", node)
        return self._load(id_, level, shape, node)

    def _spreads(self, row: tuple[int, ...], full: tuple[int, ...]) -> bool:
        """Whether a value per row, of shape `row`, broadcasts over the reduced dims of `full` and nothing else."""
        padded = (1,) * (len(full) - len(row)) + row
        flat = [(a, b) for a, b in zip(padded, full, strict=True) if b != 1]
        kept = math.prod(a for a, _ in flat)
        ones = [i for i, (a, b) in enumerate(flat) if a == 1 and b != 1]
        if kept != self.domain.outer * self.domain.inner or not ones:
            return kept == self.domain.outer * self.domain.inner and self.domain.length == 1
        if ones != list(range(ones[0], ones[-1] + 1)):
            return False
        return math.prod(b for _, b in flat[ones[-1] + 1 :]) == self.domain.inner

    def _load(self, id_: int, level: str, shape: tuple[int, ...], node: Node) -> Known:
        value = self.graph.value(id_)
        if value.type.dtype not in FLOATS | _OTHERS:
            raise NotLowerable(f"An input has dtype {value.type.dtype}.", node)
        places = self._places(value.type.shape, shape, level)
        terms, dims, axis = self._index(value.type, shape, level, node, known=places is not None)
        key = (id_, (terms, level))
        if key not in self.operands:
            name = self.fresh(self.names.get(id_, f"input{id_}"))
            type_ = value.type
            self.operands[key] = Operand(name, id_, level, type_.dtype, terms, dims, type_.shape, axis, places)
        operand = self.operands[key]
        return Known(operand.name, level, shape, "bool" if operand.dtype == "bool" else "float")

    def _places(self, own: tuple[int, ...], shape: tuple[int, ...], level: str) -> tuple[int | None, ...] | None:
        """Operand.places of a tensor of shape `own` that broadcasts to `shape`."""
        full, axes = self.domain.shape, self.domain.axes
        along: list[int | None] = list(range(len(full)))
        if level == ROW and axes is not None:
            along = [None if axes[0] <= d < axes[1] else d for d in range(len(full))]
            if len(shape) < len(full):
                along = [d for d in along if d is not None]
        if len(own) > len(shape) or shape != tuple(1 if d is None else full[d] for d in along):
            return None
        if own == shape:
            return tuple(along)
        lead = len(shape) - len(own)
        return tuple(None if size == 1 else along[lead + d] for d, size in enumerate(own))

    def _index(
        self, type_: TensorType, shape: tuple[int, ...], level: str, node: Node, *, known: bool
    ) -> tuple[tuple[Term, ...] | None, tuple[tuple[int, int], ...], int | None]:
        """How an operand of `type_` is found from the flat offset into a dense tensor of `shape`.

        The numbers of rows count as those of a contiguous tensor do, in either layout. `known`: the launcher checks that the
        operand's dims are those of the main tensor.
        """
        full = self.domain.layout == CHANNELS_LAST and level == ELEMENT
        if type_.shape == shape and (is_channels_last(type_) if full else is_contiguous(type_)):
            return None, (), None
        if math.prod(type_.shape) == math.prod(shape) and is_contiguous(type_) and not full:
            return None, (), None
        if math.prod(type_.shape) == 1:
            return (), (), None
        if not is_contiguous(type_):
            raise NotLowerable("An input is not contiguous.", node)
        if len(type_.shape) > len(shape):
            raise NotLowerable(f"{node.op} broadcasts to a larger tensor.", node)
        lead = len(shape) - len(type_.shape)
        padded = (1,) * lead + type_.shape
        own = contiguous_strides(padded)
        order = (0, *range(2, len(shape)), 1) if full else tuple(range(len(shape)))
        steps = contiguous_strides([shape[d] for d in order])
        inner_of = dict(zip(order, steps, strict=True))
        terms: list[Term] = []
        dims: list[tuple[int, int]] = []
        walked = [d for d in order if padded[d] != 1]
        if any(padded[d] != shape[d] for d in walked):
            raise NotLowerable(f"{node.op} broadcasts to a larger tensor.", node)
        for d in walked:
            position = order.index(d)
            after = -1 if full else len(shape) - 1 - d
            if terms and position and order[position - 1] == d - 1 and padded[d - 1] != 1 and dims[-1][1] == d - lead:
                last = terms[-1]
                terms[-1] = Term(inner_of[d], last.size * padded[d], own[d], after, last.outermost)
                dims[-1] = (dims[-1][0], d - lead + 1)
                continue
            terms.append(Term(inner_of[d], padded[d], own[d], after, known and position == 0))
            dims.append((d - lead, d - lead + 1))
        return tuple(terms), tuple(dims), walked[0] if len(walked) == 1 else None

    def option(self, node: Node, name: str) -> str:
        """A number among the node's options as the kernel writes it."""
        value = node.kwargs.get(name)
        return self.number(node, name, value if isinstance(value, int | float) else 1e-5)[0]

    def finish(self, node: Node, text: str, level: str) -> None:
        """`text` is the node's result."""
        self.known[node.outputs[0]] = Known(text, level, self.graph.value(node.outputs[0]).type.shape)

    @property
    def rows(self) -> int:
        return self.domain.outer * self.domain.inner

    def fresh(self, base: str) -> str:
        base = base if base.isidentifier() else "value"
        name = next(n for n in (base, *(f"{base}_{i}" for i in range(2, 999))) if n not in self.taken)
        self.taken.add(name)
        return name

    def line(
        self, base: str, expression: str, level: str, uses: Sequence[str], *, reduce: str = "", tag: str = "",
        kind: str = "float",
    ) -> str:  # fmt: skip
        name = self.fresh(base)
        defined = {line.name for line in self.lines} | {operand.name for operand in self.operands.values()}
        mentioned = [word for word in re.findall(r"[A-Za-z_]\w*", expression) if word in defined]
        self.lines.append(Line(name, expression, level, tuple(dict.fromkeys((*uses, *mentioned))), reduce, tag, kind))
        return name


def arguments(node: Node) -> dict[str, Argument]:
    """The node's arguments by name, with the defaults of those that it does not have.

    Raises NotLowerable where there is a tensor among them that the operator's row does not know.
    """
    parameters = (signature(node.op) or ((("input", ...),), 1))[0]
    given = dict(zip((name for name, _ in parameters), node.args, strict=False)) | dict(node.kwargs)
    defaults = {name: default for name, default in parameters if name in given or default is not ...}
    unknown = [name for name, value in given.items() if name not in defaults and isinstance(value, TensorRef)]
    if unknown:
        raise NotLowerable(f"{node.op} with {unknown[0]} has no Triton form here.", node)
    return defaults | given  # type: ignore[return-value]


def literal_text(value: int | float) -> str:
    """A number as Triton source: always a float, negative ones in brackets."""
    if isinstance(value, bool):
        return "1.0" if value else "0.0"
    if math.isinf(value) or math.isnan(value):
        return f'float("{value}")'
    text = repr(float(value))
    return f"({text})" if value < 0 else text
