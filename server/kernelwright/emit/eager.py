"""Prints nodes of an op graph as torch code, for launchers that are asked for a gradient: their kernels have no backward."""

import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kernelwright.ops import Kind, parameters, row, torch_name
from kernelwright.place.layout import WIDTH, call_text
from kernelwright.values import Argument, Graph, Node, TensorRef

_FLOATS = ("float64", "float32", "float16", "bfloat16")
_SIZES = ("shape", "index", "start", "length")
"""Parameters whose numbers may be sizes of the captured call, which other calls need not have."""
_TORCH = ("dtype", "memory_format")
"""Parameters whose values are attributes of torch."""
_INDENT = 8


@dataclass(frozen=True)
class Spelled:
    """How a launcher names what a region reads.

    `tensors`: input Value to parameter. `numbers`: (node id, parameter) to the expression at the call of each number that is
    no literal. `parameters`: expression to the launcher's parameter. `changed`: the tensors that are written to. `any_rank`:
    calls may have other leading dimensions. `biases`: inputs to which a bias is added, one number for each channel.
    """

    tensors: Mapping[int, str]
    numbers: Mapping[tuple[int, str], str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    any_rank: bool = False
    biases: Mapping[int, int] = field(default_factory=dict)


def eager_lines(
    graph: Graph, nodes: Sequence[int], inputs: Sequence[int], results: Sequence[int], spelled: Spelled
) -> tuple[str, ...]:
    """Lines of a launcher that answer with what torch computes where autograd is on and an input requires a gradient.

    `results`: the Values that the launcher returns. There are no lines where no gradient flows, where the launcher is not
    handed all that the nodes read, and where a number may be a size of the captured call.
    """
    inputs = (*inputs, *spelled.biases.values())
    values = [graph.value(v) for v in inputs if v in spelled.tensors]
    asked = [spelled.tensors[value.id] for value in values if value.type.dtype in _FLOATS and value.origin != "buffer"]
    flows = any(graph.value(v).type.dtype in _FLOATS for v in results)
    if not asked or not flows or set(inputs) != set(spelled.tensors):
        return ()
    try:
        body = list(
            _Body(graph, spelled, dict(spelled.tensors)).lines([graph.nodes[n] for n in sorted(nodes)], results)
        )
    except _Unspelled:
        return ()
    return where_gradients_flow(asked, body)


def where_gradients_flow(asked: Sequence[str], body: Sequence[str]) -> tuple[str, ...]:
    """The lines of `body` under the condition that a gradient is asked for with regard to one of these tensors."""
    return (_condition(asked), *(f"    {line}" for line in body))


def _condition(asked: Sequence[str]) -> str:
    """`if …:`, in as many lines as a formatter would take."""
    head = "if torch.is_grad_enabled() and "
    if len(asked) == 1:
        return f"{head}{asked[0]}.requires_grad:"
    among = f"for t in ({', '.join(asked)})"
    if len(f"    {head}any(t.requires_grad {among}):") <= WIDTH:
        return f"{head}any(t.requires_grad {among}):"
    lines = [f"t.requires_grad {among}"]
    if len(f"        {lines[0]}") > WIDTH:
        lines = ["t.requires_grad", among]
    if len(f"        {among}") > WIDTH:
        lines = ["t.requires_grad", "for t in (", *(f"    {name}," for name in asked), ")"]
    return "\n".join([f"{head}any(", *(f"        {line}" for line in lines), "    ):"])


class _Unspelled(Exception):
    """A node that cannot be written as a call which is right for other sizes, too."""


@dataclass
class _Body:
    graph: Graph
    spelled: Spelled
    names: dict[int, str]  # of the Values so far

    def lines(self, nodes: Sequence[Node], results: Sequence[int]) -> Iterator[str]:
        """One statement for each bias and each node, of which the last returns. Raises _Unspelled."""
        *before, last = nodes
        for value, bias in self.spelled.biases.items():
            behind = ", None" * (len(self.graph.value(value).type.shape) - 2)
            yield f"{self.names[value]} = {self.names[value]} + {self.names[bias]}[:{behind}]"
        for node in before:
            text = self._call(node)
            if self._changes(node):
                yield text
                text = text.split(".")[0]
            if text.isidentifier():
                self.names[node.outputs[0]] = text
                continue
            name = self._fresh(row(node.op).result or node.op)
            yield f"{name} = {text}"
            several = len(node.outputs) > 1
            self.names |= {v: f"{name}[{i}]" if several else name for i, v in enumerate(node.outputs)}
        part = f"[{last.outputs.index(results[0])}]" if len(last.outputs) > len(results) else ""
        yield f"return {self._call(last, len(f'return {part}'))}{part}"

    def _fresh(self, base: str) -> str:
        taken = {*self.names.values(), *self.spelled.parameters.values(), *dir(builtins)}
        return next(n for n in (base, *(f"{base}_{i}" for i in range(2, 999))) if n not in taken)

    def _changes(self, node: Node) -> bool:
        """Whether a node writes to an input of the region."""
        first = node.args[0]
        return node.inplace and isinstance(first, TensorRef) and self.names.get(first.id) in self.spelled.changed

    def _call(self, node: Node, prefix: int = 0) -> str:
        known = row(node.op)
        if known.kind is Kind.RANDOM and (node.kwargs.get("training") is False or node.kwargs.get("p") == 0):
            return self._argument(node, "input", node.args[0])
        if known.reshapes and "shape" in dict(parameters(node.op)[0]):
            return self._flattened(node)
        named = self._arguments(node)
        given = _given(node.op, named)
        if self._changes(node):
            return f"{given[0]}.{node.op}_({', '.join(given[1:])})"
        if known.sign and len(given) == len(node.args) <= 2:
            operands = [f"({text})" if text.startswith("-") else text for text in named.values()]
            sign = known.sign if known.sign in ("~", "**") or len(operands) == 1 else f" {known.sign} "
            return f"{sign}{operands[0]}" if len(operands) == 1 else sign.join(operands)
        function = torch_name(node.op)
        if function == "[]":
            return f"{given[0]}[{named['index']}]"
        if function.startswith("."):
            return f"{given[0]}{function}({', '.join(given[1:])})"
        return call_text(function, given, "", _INDENT, prefix)

    def _flattened(self, node: Node) -> str:
        """A reshape that makes one dim of the last ones, as the kernel does for any sizes. Raises _Unspelled for others."""
        before, after = (self.graph.value(v).type.shape for v in (node.tensor(), node.outputs[0]))
        first = len(after) - 1
        if not 0 <= first < len(before) or after[:first] != before[:first]:
            raise _Unspelled
        return f"{self._value(node.tensor())}.flatten({first})"

    def _arguments(self, node: Node) -> dict[str, str]:
        """The arguments that are no defaults, in order, with their texts."""
        known = parameters(node.op)[0] if row(node.op).signature else ()
        defaults = dict(known)
        given = dict(zip(defaults, node.args, strict=False)) | dict(node.kwargs)
        if len(node.args) > len(known) or set(given) - set(defaults):
            raise _Unspelled
        if self._over_all(node, given):
            del given["dim"]
        return {
            name: self._argument(node, name, value)
            for name, value in given.items()
            if isinstance(value, TensorRef) or defaults[name] is ... or value != defaults[name]
        }

    def _over_all(self, node: Node, given: Mapping[str, Argument]) -> bool:
        """Whether it reduces all dims to one number."""
        dims = given.get("dim")
        return (
            isinstance(dims, tuple)
            and len(dims) == self._rank(node)
            and not given.get("keepdim")
            and len(node.outputs) == 1
        )

    def _rank(self, node: Node) -> int:
        return len(self.graph.value(node.tensor()).type.shape)

    def _argument(self, node: Node, name: str, value: Argument) -> str:
        if isinstance(value, TensorRef):
            return self._value(value.id)
        if name in _SIZES:
            raise _Unspelled
        if name == "normalized_shape" and isinstance(value, tuple):
            return f"{self._argument(node, 'input', node.args[0])}.shape[-{len(value)}:]"
        if name in _TORCH and value is not None:
            return f"torch.{value}"
        if name == "dim":
            return repr(self._dims(node, value))
        return self._number(self.spelled.numbers.get((node.id, name)), value)

    def _value(self, id_: int) -> str:
        if id_ not in self.names:
            raise _Unspelled
        return self.names[id_]

    def _number(self, expression: str | None, value: Argument) -> str:
        """The launcher's parameter for a number, where it has one."""
        known = self.spelled.parameters
        if expression is not None and expression in known:
            return known[expression]
        if isinstance(value, tuple):
            parts = [self._number(expression and f"{expression}[{i}]", one) for i, one in enumerate(value)]
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if isinstance(value, TensorRef):
            return self._value(value.id)
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return f'float("{value}")'
        return f'"{value}"' if isinstance(value, str) else repr(value)

    def _dims(self, node: Node, value: Argument) -> Argument:
        """Dims without a tuple around a single one; counted from the end where there may be more in front."""
        back = self._rank(node) if self.spelled.any_rank else 0
        if not isinstance(value, tuple):
            return value - back if isinstance(value, int) else value
        dims = tuple(d - back if isinstance(d, int) else d for d in value)
        return dims[0] if len(dims) == 1 else dims


def _given(op: str, named: Mapping[str, str]) -> list[str]:
    """The arguments of a call: operands by position where none is left out before them, all else by name."""
    known, operands = parameters(op)
    places = {name: at for at, (name, _) in enumerate(known)}
    return [
        text if places[name] == at < max(operands, 1) else f"{name}={text}"
        for at, (name, text) in enumerate(named.items())
    ]
