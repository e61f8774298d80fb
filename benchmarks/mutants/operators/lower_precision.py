"""Fewer digits inside than the baseline keeps: casts to half precision on the way, narrow accumulators, 32-bit offsets."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Change, Code, Function, arguments, field, in_brackets, replaced
from tree_sitter import Node

_NARROWER = {"float32": ("float16", "bfloat16"), "float64": ("float32",), "int64": ("int32",)}
_SENSITIVE = (
    "exp",
    "exp2",
    "log",
    "sqrt",
    "rsqrt",
    "erf",
    "sigmoid",
    "dot",
    "matmul",
    "softmax",
    "log_softmax",
    "gelu",
)
_SENSITIVE += ("sum", "mean", "var", "linear", "conv2d", "cumsum", "bmm")


def faults(code: Code) -> Iterator[Fault]:
    for node, function in code.everywhere("attribute", "call", "return_statement", "binary_operator"):
        match node.type:
            case "attribute":
                yield from _narrowed(code, node)
            case "call" if function.jit:
                yield from _kernel_call(code, node)
            case "return_statement" if function.computes and node.named_children:
                yield from _rounded_result(code, node, function)
            case "call" | "binary_operator" if function.computes:
                yield from _rounded_operand(code, node)


def _narrowed(code: Code, node: Node) -> Iterator[Fault]:
    package, _, dtype = (code.name(node) or "").rpartition(".")
    if package not in ("torch", "triton.language"):
        return
    if package == "torch" and _of_an_allocation(code, node):
        return
    for narrow in _NARROWER.get(dtype, ()):
        text = f"{code.content(field(node, 'object'))}.{narrow}"
        yield Fault((replaced(node, text),), f"{code.content(node)} became {text}")


def _kernel_call(code: Code, node: Node) -> Iterator[Fault]:
    called, given = code.called(node), arguments(node)
    if called == "triton.language.store" and len(given) > 1:
        text = f"{in_brackets(code, given[1])}.to(tl.float16)"
        yield Fault((replaced(given[1], text),), f"rounded before it is stored: {code.content(given[1])}")
    elif called.startswith("triton.language.") and called.rpartition(".")[2] in _SENSITIVE and given:
        text = f"{in_brackets(code, given[0])}.to(tl.bfloat16).to(tl.float32)"
        yield Fault((replaced(given[0], text),), f"rounded on the way: {code.content(given[0])}")


def _rounded_result(code: Code, node: Node, function: Function) -> Iterator[Fault]:
    value = node.named_children[0]
    if value.type == "expression_list":
        value = value.named_children[0]
        if value.type != "identifier":
            return
    text = in_brackets(code, value)
    indent = " " * node.start_point.column
    if value.type == "identifier":
        before = f"{text} = {text}.bfloat16().to({text}.dtype)\n{indent}"
        yield Fault((Change(node.start_byte, node.start_byte, before),), f"the result is rounded: {text}")
    else:
        whole = f"result = {code.content(value)}\n{indent}return result.bfloat16().to(result.dtype)"
        yield Fault((replaced(node, whole),), "the result is rounded")


def _rounded_operand(code: Code, node: Node) -> Iterator[Fault]:
    """A tensor that goes into something that sums or exponentiates; only plain names, which can be said twice."""
    if node.type == "binary_operator":
        operands = [field(node, "left")] if field(node, "operator").type == "@" else []
    elif code.called(node).rpartition(".")[2] not in _SENSITIVE:
        operands = []
    elif code.called(node).startswith("."):
        operands = [field(field(node, "function"), "object")]
    else:
        operands = arguments(node)[:1]
    for operand in operands:
        if operand.type == "identifier":
            name = code.content(operand)
            text = f"{name}.half().to({name}.dtype)"
            yield Fault((replaced(operand, text),), f"rounded on the way: {name}")


def _of_an_allocation(code: Code, node: Node) -> bool:
    """`torch.empty(…, dtype=torch.float32)`: what comes out then is another operator's business."""
    argument = node.parent
    call = argument.parent.parent if argument is not None and argument.type == "keyword_argument" else None
    return call is not None and code.called(call).startswith(("torch.empty", "torch.zeros", "torch.full"))


OPERATOR = Operator("lower-precision", "fewer digits inside than the baseline keeps", faults)
