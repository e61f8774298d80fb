"""The steps of an operator's meaning as lines of a Program: folds over rows, and pointwise code around them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelwright.micro.rewrite.channels import channel_operand
from kernelwright.micro.rewrite.program import ELEMENT, ROW, SCALAR
from kernelwright.micro.rewrite.scope import Known, NotLowerable, Scope, arguments
from kernelwright.ops import Let, Row, Steps
from kernelwright.ops.expression import Apply, Expr, parse, variables
from kernelwright.ops.folds import FOLDS
from kernelwright.ops.primitives import device_functions, triton_text
from kernelwright.values import Argument, Node, TensorRef

_MACHINE_EPSILON = {"float32": 1.1920928955078125e-07, "float16": 0.0009765625, "bfloat16": 0.0078125}


def steps_of(row: Row, node: Node) -> Steps:
    """The steps that these options ask for. Raises NotLowerable where there are none."""
    given = {name: ... if isinstance(value, TensorRef) else value for name, value in arguments(node).items()}
    steps = row.meaning(given) if callable(row.meaning) else row.meaning
    if not isinstance(steps, tuple):
        raise NotLowerable(f"{node.op} with these options has no Triton form here.", node)
    return steps


def lower_steps(low: Scope, node: Node, row: Row, x: Known) -> None:
    """Append the lines of `node`, whose first operand is `x`; the last step is its result."""
    steps = steps_of(row, node)
    text = f"{x.text}.to(tl.float32)" if x.kind == "bool" else x.text
    writer = _Writer(low, node, {"input": _Name(text, x.level, x.text), "length": _Name("length", SCALAR)})
    writer.load_operands(steps, per_channel=row.per_channel)
    for step in steps:
        writer.write(step)
    last = writer.names[steps[-1].name]
    low.finish(node, last.text, last.level)


@dataclass(frozen=True)
class _Name:
    """What a variable of a meaning is in the kernel; `use` is the line or operand that it reads."""

    text: str
    level: str
    use: str = ""


@dataclass
class _Writer:
    low: Scope
    node: Node
    names: dict[str, _Name]
    given: Mapping[str, Argument] = field(init=False)

    def __post_init__(self) -> None:
        self.given = arguments(self.node)

    def load_operands(self, steps: Steps, *, per_channel: bool) -> None:
        read = {name for step in steps for name in variables(parse(step.text))}
        first = self.node.args[0]
        shape = self.low.graph.value(first.id).type.shape  # type: ignore[union-attr]
        for name, value in self.given.items():
            if name not in read or not isinstance(value, TensorRef) or name in self.names:
                continue
            if per_channel:
                operand = channel_operand(self.low, value.id, shape, self.node)
            else:
                operand = self.low.operand(value.id, ELEMENT, shape, self.node)
            self.names[name] = _Name(operand.text, operand.level, operand.text)

    def write(self, step: Let) -> None:
        expr = parse(step.text)
        fold = expr.function if isinstance(expr, Apply) and expr.function in FOLDS else ""
        body = expr.arguments[0] if fold else expr  # type: ignore[union-attr]
        read = [self._named(name) for name in variables(body)]
        for helper in (FOLDS[fold].device if fold else "", *device_functions(body)):
            if helper:
                self.low.helpers[helper] = None
        level = ROW if fold or all(name.level != ELEMENT for name in read) else ELEMENT
        uses = [name.use for name in read if name.use]
        if fold.startswith("arg") and len(self.given["dim"]) != 1:  # type: ignore[arg-type]
            raise NotLowerable(f"{self.node.op} over several dims.", self.node)
        line = self.low.line(
            step.name, self._text(body), level, uses, reduce=fold, tag=step.tag,
            kind="int" if fold.startswith("arg") else "float",
        )  # fmt: skip
        self.names[step.name] = _Name(line, level, line)

    def _text(self, expr: Expr) -> str:
        return triton_text(expr, {name: self._named(name).text for name in variables(expr)})

    def _named(self, name: str) -> _Name:
        if name not in self.names:
            self.names[name] = _Name(self._number(name), SCALAR)
        return self.names[name]

    def _number(self, name: str) -> str:
        if name == "machine_epsilon":
            return repr(_MACHINE_EPSILON[self.low.graph.value(self.node.outputs[0]).type.dtype])
        if name == "batch_size":
            return self._batch_size()
        return self.low.option(self.node, name)

    def _batch_size(self) -> str:
        """The size of the target's first dim as a number that the launcher is given."""
        target = self.given["target"]
        text = "target" if self.low.texts is None else self.low.texts.get(target.id, "")  # type: ignore[union-attr]
        if not text.isidentifier():
            raise NotLowerable(f"The batch size of {self.node.op} has no name in the source.", self.node)
        name = self.low.fresh("batch_size")
        self.low.scalars[name] = f"{text}.shape[0]"
        return name
