"""Graph nodes to a Program: which values are full tensors, which are one number per row, how operands broadcast."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import EllipsisType

from kernelwright.micro.rewrite.program import ELEMENT, ROW, SCALAR, Program
from kernelwright.micro.rewrite.reductions import lower_reduction
from kernelwright.micro.rewrite.scope import FLOATS, Known, NotLowerable, Scope, arguments
from kernelwright.micro.rewrite.steps import lower_steps
from kernelwright.nest.layouts import CONTIGUOUS, layout_of
from kernelwright.ops import Kind, Row, row
from kernelwright.ops.expression import Expr, Var, parse
from kernelwright.ops.primitives import device_functions, is_boolean, triton_text, truths
from kernelwright.values import Argument, Node, TensorRef

__all__ = ["Lowering", "NotLowerable"]


@dataclass
class Lowering(Scope):
    """Lowers nodes one after the other; raises NotLowerable at the first that does not fit the domain."""

    def run(self, nodes: Sequence[Node], output: int) -> Program:
        for node in nodes:
            self.lower(node)
        return self.program(nodes, output)

    def program(self, nodes: Sequence[Node], output: int) -> Program:
        """The Program of the nodes that have been lowered, which makes the Value `output`."""
        result = self.known.get(output)
        if result is None or result.level == SCALAR:
            raise NotLowerable("The region's result is not made by it.", nodes[-1])
        made = self.graph.value(output).type
        if made.dtype not in FLOATS | {"bool"} and made.dtype not in ("int64",):
            raise NotLowerable(f"The result has dtype {made.dtype}.", nodes[-1])
        layout = layout_of(made)
        if layout is None or not self._can_store(result.level, layout):
            raise NotLowerable("The result is stored in another order than the rows are read.", nodes[-1])
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
            layout,
        )

    def _can_store(self, level: str, layout: str) -> bool:
        """Whether the result can be written in `layout`, from the tiles in which the domain is read."""
        if level == ROW:
            return layout == CONTIGUOUS
        if layout == self.domain.layout or not any(line.reduce for line in self.lines):
            return True
        return layout == CONTIGUOUS and self.domain.axes in ((1, 2), (2, len(self.domain.shape)))

    def lower(self, node: Node) -> None:
        if len(node.outputs) > 1 and node.op not in ("max", "min"):
            raise NotLowerable(f"{node.op} has several results.", node)
        known = row(node.op)
        if known.reshapes:
            self._lower_view(node)
        elif known.meaning is None:
            raise NotLowerable(f"{node.op} has no Triton form here.", node)
        elif known.over:
            lower_reduction(self, node)
            self.ops.append(node.op)
        elif known.per_channel:
            self._lower_by_channel(node, known)
        elif known.kind is Kind.CREATION:
            self._lower_literal(node)
        else:
            self._lower_pointwise(node, known)

    def _lower_view(self, node: Node) -> None:
        first = node.args[0]
        source = self.known.get(first.id) if isinstance(first, TensorRef) else None
        if source is None or source.level == SCALAR:
            raise NotLowerable(f"{node.op} of an input stays outside.", node)
        if self.domain.layout != CONTIGUOUS and source.level == ELEMENT:
            raise NotLowerable(f"{node.op} of a tensor that is not contiguous.", node)
        self.known[node.outputs[0]] = replace(source, shape=self.graph.value(node.outputs[0]).type.shape)

    def _lower_by_channel(self, node: Node, known: Row) -> None:
        """Pointwise code beside operands that have one number for each channel."""
        first, shape = node.args[0], self.graph.value(node.outputs[0]).type.shape
        if math.prod(shape) != self.domain.numel or not isinstance(first, TensorRef):
            raise NotLowerable(f"{node.op} works on another shape than the rest.", node)
        lower_steps(self, node, known, self.operand(first.id, ELEMENT, shape, node))
        self.ops.append(node.op)

    def _lower_pointwise(self, node: Node, known: Row) -> None:
        type_ = self.graph.value(node.outputs[0]).type
        if type_.dtype not in FLOATS | {"bool"}:
            raise NotLowerable(f"{node.op} computes in {type_.dtype}.", node)
        level = self._level(node, type_.shape)
        formatted = {
            name: self._format(node, name, argument, level, type_.shape) for name, argument in arguments(node).items()
        }
        expr = _meaning(node, known, {name: literal for name, (_, literal, _) in formatted.items()})
        uses = [text for text, literal, _ in formatted.values() if literal is ...]
        expression = triton_text(expr, self._typed(node, expr, formatted))
        for function in device_functions(expr):
            self.helpers[function] = None
        self.ops.append(node.op)
        out = node.outputs[0]
        if isinstance(expr, Var):
            kind = self._kind_of(expression)
            if kind == "bool" and type_.dtype != "bool":
                expression, kind = f"{expression}.to(tl.float32)", "float"
            if expression.isidentifier():
                self.ops.pop()
                self.known[out] = Known(expression, level, type_.shape, kind)
                return
        else:
            kind = "bool" if is_boolean(expr) else "float"
        name = self.line(known.result or f"{node.op}_out", expression, level, uses, kind=kind)
        self.known[out] = Known(name, level, type_.shape, kind)

    def _typed(self, node: Node, expr: Expr, formatted: Mapping[str, tuple[str, object, str]]) -> dict[str, str]:
        """The arguments' texts, booleans as numbers where numbers are asked for. Raises for the other way round."""
        booleans = truths(expr)
        if any(name in booleans and kind != "bool" for name, (_, _, kind) in formatted.items()):
            raise NotLowerable(f"{node.op} of numbers instead of booleans.", node)
        as_number = not isinstance(expr, Var)
        return {
            name: f"{text}.to(tl.float32)" if as_number and kind == "bool" and name not in booleans else text
            for name, (text, _, kind) in formatted.items()
        }

    def _kind_of(self, text: str) -> str:
        known = next((k for k in self.known.values() if k.text == text), None)
        if known:
            return known.kind
        operand = next((o for o in self.operands.values() if o.name == text), None)
        return "bool" if operand and operand.dtype == "bool" else "float"

    def _lower_literal(self, node: Node) -> None:
        data, dtype = node.args[0], self.graph.value(node.outputs[0]).type.dtype
        if dtype not in FLOATS | {"bool"}:
            raise NotLowerable(f"{node.op} computes in {dtype}.", node)
        if not isinstance(data, bool | int | float):
            raise NotLowerable("A tensor that is built from data stays outside.", node)
        text, literal = self.number(node, "data", data)
        self.known[node.outputs[0]] = Known(text, SCALAR, (), literal=literal)

    def _format(
        self, node: Node, name: str, argument: Argument, level: str, shape: tuple[int, ...]
    ) -> tuple[str, Argument | EllipsisType, str]:
        """(text, literal value or ..., kind) of one argument."""
        if isinstance(argument, TensorRef):
            known = self.operand(argument.id, level, shape, node)
            literal = known.literal if known.level == SCALAR and known.literal is not ... else ...
            return known.text, literal, known.kind
        if isinstance(argument, bool) or argument is None or isinstance(argument, str | tuple):
            return repr(argument), argument, "option"
        return *self.number(node, name, argument), "float"

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


def _meaning(node: Node, known: Row, given: Mapping[str, object]) -> Expr:
    """What the node computes with these literal options. Raises where there is no form for them."""
    text = known.meaning(given) if callable(known.meaning) else known.meaning
    if not isinstance(text, str):
        raise NotLowerable(f"{node.op} with these options has no Triton form here.", node)
    return parse(text)


def _tensor_arguments(node: Node) -> list[TensorRef]:
    return [a for a in (*node.args, *node.kwargs.values()) if isinstance(a, TensorRef)]
