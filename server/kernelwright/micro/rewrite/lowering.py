"""Graph nodes to a Program: which values are full tensors, which are one number per row, how operands broadcast."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernelwright.micro.rewrite.ops import HELPERS, POINTWISE, REDUCTIONS, VIEWS
from kernelwright.micro.rewrite.program import ELEMENT, ROW, SCALAR, Domain, Line, Operand, Program, Term
from kernelwright.values import Argument, Graph, Node, Refusal, TensorRef, TensorType
from kernelwright.values.torch_calls import signature

_FLOATS = frozenset({"float32", "float16", "bfloat16"})
_OTHERS = frozenset({"bool", "int64", "int32", "int16", "int8", "uint8"})


class NotLowerable(Exception):
    """The region cannot become one kernel; the message is for the user."""

    def __init__(self, reason: str, node: Node | None = None) -> None:
        super().__init__(reason)
        self.line = node.where.start_line if node and node.where else None

    @property
    def refusal(self) -> Refusal:
        return Refusal(str(self), self.line)


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def is_contiguous(type_: TensorType) -> bool:
    expected = contiguous_strides(type_.shape)
    return all(a == b or size == 1 for a, b, size in zip(type_.stride, expected, type_.shape, strict=True))


def is_channels_last(type_: TensorType) -> bool:
    shape, stride = type_.shape, type_.stride
    if len(shape) not in (4, 5) or is_contiguous(type_):
        return False
    order = (0, *range(2, len(shape)), 1)
    expected = contiguous_strides([shape[d] for d in order])
    return all(stride[d] == e or shape[d] == 1 for d, e in zip(order, expected, strict=True))


@dataclass(frozen=True)
class _Known:
    """A value made inside the region: a name in the kernel, or a literal."""

    text: str
    level: str
    shape: tuple[int, ...]
    kind: str = "float"
    literal: Argument = ...  # type: ignore[assignment]


@dataclass
class Lowering:
    """Lowers nodes one after the other; raises NotLowerable at the first that does not fit the domain."""

    graph: Graph
    domain: Domain
    names: Mapping[int, str] = field(default_factory=dict)  # input Value -> how the kernel calls it
    scalar_texts: Mapping[tuple[int, str], str] = field(default_factory=dict)
    texts: Mapping[int, str] | None = None  # input Value -> its expression in the source; None while only trying
    known: dict[int, _Known] = field(default_factory=dict)
    operands: dict[tuple[int, object], Operand] = field(default_factory=dict)
    scalars: dict[str, str] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    helpers: dict[str, None] = field(default_factory=dict)
    ops: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=lambda: set(HELPERS) | {"out", "mask", "row", "rows", "offsets", "columns"})

    def run(self, nodes: Sequence[Node], output: int) -> Program:
        for node in nodes:
            self._lower(node)
        result = self.known.get(output)
        if result is None or result.level == SCALAR:
            raise NotLowerable("The region's result is not made by it.", nodes[-1])
        made = self.graph.value(output).type
        if made.dtype not in _FLOATS | {"bool"} and made.dtype not in ("int64",):
            raise NotLowerable(f"The result has dtype {made.dtype}.", nodes[-1])
        if self.domain.layout == "contiguous" and not is_contiguous(made):
            raise NotLowerable("The result is not contiguous in eager mode.", nodes[-1])
        return Program(
            self.domain,
            tuple(self.operands.values()),
            dict(self.scalars),
            tuple(self.lines),
            result.text,
            result.level,
            made.shape,
            made.dtype,
            tuple(self.helpers),
            tuple(self.ops),
            any(node.kwargs.get("dtype") is not None for node in nodes),
        )

    def _lower(self, node: Node) -> None:
        if len(node.outputs) > 1 and node.op not in ("max", "min"):
            raise NotLowerable(f"{node.op} has several results.", node)
        if node.op in VIEWS:
            self._lower_view(node)
        elif node.op in REDUCTIONS:
            from kernelwright.micro.rewrite.reductions import lower_reduction

            lower_reduction(self, node)
            self.ops.append(node.op)
        elif node.op in POINTWISE:
            self._lower_pointwise(node)
        elif node.op == "batch_norm" and not node.kwargs.get("training"):
            from kernelwright.micro.rewrite.reductions import lower_batch_norm

            lower_batch_norm(self, node)
            self.ops.append(node.op)
        else:
            raise NotLowerable(f"{node.op} has no Triton form here.", node)

    def _lower_view(self, node: Node) -> None:
        first = node.args[0]
        source = self.known.get(first.id) if isinstance(first, TensorRef) else None
        if source is None or source.level == SCALAR:
            raise NotLowerable(f"{node.op} of an input stays outside.", node)
        if self.domain.layout != "contiguous":
            raise NotLowerable(f"{node.op} of a tensor that is not contiguous.", node)
        self.known[node.outputs[0]] = replace(source, shape=self.graph.value(node.outputs[0]).type.shape)

    def _lower_pointwise(self, node: Node) -> None:
        row = POINTWISE[node.op]
        type_ = self.graph.value(node.outputs[0]).type
        if type_.dtype not in _FLOATS | {"bool"}:
            raise NotLowerable(f"{node.op} computes in {type_.dtype}.", node)
        if node.op == "tensor":
            self._lower_literal(node)
            return
        level = self._level(node, type_.shape)
        arguments = self._arguments(node)
        formatted: dict[str, str] = {}
        literals: dict[str, object] = {}
        uses: list[str] = []
        boolean = node.op.startswith(("bitwise_", "logical_"))
        for name, argument in arguments.items():
            text, literal, kind = self._format(node, name, argument, level, type_.shape)
            wants_bool = boolean or name in ("condition", "mask")
            if wants_bool and kind != "bool":
                raise NotLowerable(f"{node.op} of numbers instead of booleans.", node)
            if kind == "bool" and not wants_bool and row.result != "input":
                text = f"{text}.to(tl.float32)"
            formatted[name], literals[name] = text, literal
            uses += [text.removesuffix(".to(tl.float32)")] if literal is ... else []
        template = row.expression
        expression = template.format(**formatted) if isinstance(template, str) else template(formatted, literals)
        if expression is None:
            raise NotLowerable(f"{node.op} with these options has no Triton form here.", node)
        for helper in (*row.helpers, *(("tanh",) if node.op == "gelu" and "tanh(" in expression else ())):
            self.helpers[helper] = None
        self.ops.append(node.op)
        out = node.outputs[0]
        if row.result == "input":
            kind = self._kind_of(expression)
            if kind == "bool" and type_.dtype != "bool":
                expression, kind = f"{expression}.to(tl.float32)", "float"
            if expression.isidentifier():
                self.ops.pop()
                self.known[out] = _Known(expression, level, type_.shape, kind)
                return
        else:
            kind = row.result
        name = self.line(row.name or f"{node.op}_out", expression, level, uses, kind=kind)
        self.known[out] = _Known(name, level, type_.shape, kind)

    def _kind_of(self, text: str) -> str:
        known = next((k for k in self.known.values() if k.text == text), None)
        if known:
            return known.kind
        operand = next((o for o in self.operands.values() if o.name == text), None)
        return "bool" if operand and operand.dtype == "bool" else "float"

    def _lower_literal(self, node: Node) -> None:
        data = node.args[0]
        if not isinstance(data, bool | int | float):
            raise NotLowerable("A tensor that is built from data stays outside.", node)
        text, literal = self.number(node, "data", data)
        self.known[node.outputs[0]] = _Known(text, SCALAR, (), literal=literal)

    def _arguments(self, node: Node) -> dict[str, Argument]:
        known = signature(node.op)
        names = [name for name, _ in known[0]] if known else ["input"]
        return dict(zip(names, node.args, strict=False)) | dict(node.kwargs)

    def _format(
        self, node: Node, name: str, argument: Argument, level: str, shape: tuple[int, ...]
    ) -> tuple[str, object, str]:
        """(text, literal value or ..., kind) of one argument."""
        if isinstance(argument, TensorRef):
            known = self.operand(argument.id, level, shape, node)
            literal = known.literal if known.level == SCALAR and known.literal is not ... else ...
            return known.text, literal, known.kind
        if isinstance(argument, bool) or argument is None or isinstance(argument, str | tuple):
            return repr(argument), argument, "option"
        text, literal = self.number(node, name, argument)
        return text, literal, "float"

    def number(self, node: Node, name: str, value: int | float) -> tuple[str, object]:
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

    def operand(self, id_: int, level: str, shape: tuple[int, ...], node: Node) -> _Known:
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

    def _load(self, id_: int, level: str, shape: tuple[int, ...], node: Node) -> _Known:
        value = self.graph.value(id_)
        if value.type.dtype not in _FLOATS | _OTHERS:
            raise NotLowerable(f"An input has dtype {value.type.dtype}.", node)
        terms, dims = self._index(value.type, shape, node)
        key = (id_, (terms, level))
        if key not in self.operands:
            name = self.fresh(self.names.get(id_, f"input{id_}"))
            self.operands[key] = Operand(name, id_, level, value.type.dtype, terms, dims, value.type.shape)
        operand = self.operands[key]
        return _Known(operand.name, level, shape, "bool" if operand.dtype == "bool" else "float")

    def _index(
        self, type_: TensorType, shape: tuple[int, ...], node: Node
    ) -> tuple[tuple[Term, ...] | None, tuple[tuple[int, int], ...]]:
        """How an operand of `type_` is found from the flat offset into a dense tensor of `shape`."""
        full = self.domain.layout == "channels_last"
        if type_.shape == shape and (is_channels_last(type_) if full else is_contiguous(type_)):
            return None, ()
        if math.prod(type_.shape) == math.prod(shape) and is_contiguous(type_) and not full:
            return None, ()
        if math.prod(type_.shape) == 1:
            return (), ()
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
            terms.append(Term(inner_of[d], padded[d], own[d], after, position == 0))
            dims.append((d - lead, d - lead + 1))
        return tuple(terms), tuple(dims)

    def _level(self, node: Node, shape: tuple[int, ...]) -> str:
        inside = [self.known[a.id] for a in _tensor_arguments(node) if a.id in self.known]
        levels = {k.level for k in inside} - {SCALAR}
        numel = math.prod(shape)
        if ELEMENT in levels or (levels and numel == self.domain.numel != self.rows):
            if numel != self.domain.numel:
                raise NotLowerable(f"{node.op} broadcasts to a larger tensor.", node)
            return ELEMENT
        if levels == {ROW}:
            if numel != self.rows:
                raise NotLowerable(f"{node.op} broadcasts to a larger tensor.", node)
            return ROW
        if numel == self.domain.numel:
            return ELEMENT
        raise NotLowerable(f"{node.op} works on another shape than the rest.", node)

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


def literal_text(value: int | float) -> str:
    """A number as Triton source: always a float, negative ones in brackets."""
    if isinstance(value, bool):
        return "1.0" if value else "0.0"
    if math.isinf(value) or math.isnan(value):
        return f'float("{value}")'
    text = repr(float(value))
    return f"({text})" if value < 0 else text


def _tensor_arguments(node: Node) -> list[TensorRef]:
    return [a for a in (*node.args, *node.kwargs.values()) if isinstance(a, TensorRef)]
