"""Another stride: of another axis, of a contiguous tensor where a view is allowed, or of another parameter."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, arguments, field, replaced


def faults(code: Code) -> Iterator[Fault]:
    for node, function in code.everywhere("call", "identifier"):
        if node.type == "identifier":
            if function.jit and node.parent is not None and node.parent.type == "binary_operator":
                strides = [name for name in function.parameters if "stride" in name]
                if code.content(node) in strides and len(strides) > 1:
                    other = strides[(strides.index(code.content(node)) + 1) % len(strides)]
                    yield Fault((replaced(node, other),), f"{code.content(node)} became {other}")
            continue
        called = code.called(node)
        if called == ".stride" and arguments(node):
            whole, axis = field(field(node, "function"), "object"), code.content(arguments(node)[0])
            other = {"0": "1", "1": "0", "2": "1", "-1": "-2", "-2": "-1"}.get(axis)
            if other is not None:
                yield Fault((replaced(arguments(node)[0], other),), f"stride of axis {axis} became that of {other}")
            packed = {"0": f"{code.content(whole)}.shape[1:].numel()", "1": f"{code.content(whole)}.shape[2:].numel()"}
            if axis in packed:
                text = f"{packed[axis]}"
                yield Fault((replaced(node, text),), f"a contiguous tensor is assumed: {code.content(node)}")
        elif called == ".contiguous":
            whole = field(field(node, "function"), "object")
            yield Fault((replaced(node, code.content(whole)),), f"a contiguous tensor is assumed: {code.content(node)}")


OPERATOR = Operator("wrong-stride", "another stride than the right one", faults)
