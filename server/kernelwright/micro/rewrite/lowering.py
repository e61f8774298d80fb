"""Graph nodes to a Program: which values are full tensors, which are one number per row, how operands broadcast."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernelwright.micro.rewrite.normalisations import lower_batch_norm
from kernelwright.micro.rewrite.ops import POINTWISE, REDUCTIONS, VIEWS
from kernelwright.micro.rewrite.program import ELEMENT, ROW, SCALAR, Program
from kernelwright.micro.rewrite.reductions import lower_reduction
from kernelwright.micro.rewrite.scope import FLOATS, Known, NotLowerable, Scope
from kernelwright.micro.rewrite.tensor_layout import CONTIGUOUS, layout_of
from kernelwright.values import Argument, Node, TensorRef
from kernelwright.values.torch_calls import signature

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
        if node.op in VIEWS:
            self._lower_view(node)
        elif node.op in REDUCTIONS:
            lower_reduction(self, node)
            self.ops.append(node.op)
        elif node.op in POINTWISE:
            self._lower_pointwise(node)
        elif node.op == "batch_norm" and not node.kwargs.get("training"):
            lower_batch_norm(self, node)
            self.ops.append(node.op)
        else:
            raise NotLowerable(f"{node.op} has no Triton form here.", node)

    def _lower_view(self, node: Node) -> None:
        first = node.args[0]
        source = self.known.get(first.id) if isinstance(first, TensorRef) else None
        if source is None or source.level == SCALAR:
            raise NotLowerable(f"{node.op} of an input stays outside.", node)
        if self.domain.layout != CONTIGUOUS and source.level == ELEMENT:
            raise NotLowerable(f"{node.op} of a tensor that is not contiguous.", node)
        self.known[node.outputs[0]] = replace(source, shape=self.graph.value(node.outputs[0]).type.shape)

    def _lower_pointwise(self, node: Node) -> None:
        row = POINTWISE[node.op]
        type_ = self.graph.value(node.outputs[0]).type
        if type_.dtype not in FLOATS | {"bool"}:
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
                self.known[out] = Known(expression, level, type_.shape, kind)
                return
        else:
            kind = row.result
        name = self.line(row.name or f"{node.op}_out", expression, level, uses, kind=kind)
        self.known[out] = Known(name, level, type_.shape, kind)

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
        self.known[node.outputs[0]] = Known(text, SCALAR, (), literal=literal)

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


def _tensor_arguments(node: Node) -> list[TensorRef]:
    return [a for a in (*node.args, *node.kwargs.values()) if isinstance(a, TensorRef)]
