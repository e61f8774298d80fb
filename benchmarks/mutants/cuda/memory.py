"""Mistakes with memory: another pointer, index, stride or part of a vector, and too little shared memory."""

from collections.abc import Iterator

from benchmarks.mutants.cuda.syntax import Code, became, in_brackets, subscript
from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import field, replaced, sides
from tree_sitter import Node

from kernelwright.source.cuda.text import of_type

_PARTS = {"x": "y", "y": "z", "z": "w", "w": "x"}
_OTHER_LAYOUT = {
    "row_major": "col_major",
    "col_major": "row_major",
    "mem_row_major": "mem_col_major",
    "mem_col_major": "mem_row_major",
}
_BUILT_IN = ("threadIdx", "blockIdx", "blockDim", "gridDim", "block", "grid")


def wrong_pointer(code: Code) -> Iterator[Fault]:
    for kernel in code.functions(on_device=True):
        pointers = {one.name: one for one in kernel.parameters if one.pointers == 1}
        for node in of_type(kernel.body, "subscript_expression"):
            for name in of_type(subscript(node)[0], "identifier"):
                own = pointers.get(code.content(name))
                others = [
                    one.name
                    for one in pointers.values()
                    if own and one is not own and one.base == own.base and not (one.is_const and _is_written(node))
                ]
                if others:
                    yield became(code, name, others[0])


def wrong_offset(code: Code) -> Iterator[Fault]:
    for node in code.on_device("subscript_expression"):
        _, index = subscript(node)
        yield became(code, index, f"{in_brackets(code, index)} + 1")


def swapped_subscripts(code: Code) -> Iterator[Fault]:
    for node in code.on_device("subscript_expression"):
        whole, last = subscript(node)
        if whole.type == "subscript_expression":
            _, first = subscript(whole)
            yield Fault(
                (replaced(first, code.content(last)), replaced(last, code.content(first))),
                f"{code.content(first)} and {code.content(last)} are swapped in {code.content(node)}",
            )


def swapped_factors(code: Code) -> Iterator[Fault]:
    for node in _products(code):
        product = field(node, "left")
        row, rest = field(product, "left"), field(node, "right")
        if code.content(row) != code.content(rest):
            yield Fault(
                (replaced(row, in_brackets(code, rest)), replaced(rest, in_brackets(code, row))),
                f"{code.content(row)} and {code.content(rest)} are swapped in {code.content(node)}",
            )


def wrong_stride(code: Code) -> Iterator[Fault]:
    for kernel in code.functions(on_device=True):
        sizes = [one.name for one in kernel.parameters if not one.pointers and one.base == "int"]
        for node in of_type(kernel.body, "binary_expression"):
            _, sign, right = sides(node)
            if sign == "*" and code.content(right) in sizes and len(sizes) > 1:
                at = sizes.index(code.content(right))
                yield became(code, right, sizes[(at + 1) % len(sizes)])


def wrong_layout(code: Code) -> Iterator[Fault]:
    for node in code.on_device("identifier", "type_identifier"):
        if code.content(node) in _OTHER_LAYOUT:
            yield became(code, node, _OTHER_LAYOUT[code.content(node)])


def wrong_part(code: Code) -> Iterator[Fault]:
    fours = {
        code.content(field(node, "declarator"))
        for node in code.on_device("array_declarator")
        if _size(code, node) == "4"
    }
    for node in code.on_device("subscript_expression", "field_expression"):
        if node.type == "field_expression":
            what, part = code.content(field(node, "argument")), field(node, "field")
            if what not in _BUILT_IN and code.content(part) in _PARTS:
                yield Fault((replaced(part, _PARTS[code.content(part)]),), f"another part of {code.content(node)}")
            continue
        whole, index = subscript(node)
        if code.content(whole) in fours:
            yield became(code, index, f"3 - {in_brackets(code, index)}")


def little_shared(code: Code) -> Iterator[Fault]:
    for node in code.on_device("declaration"):
        if "__shared__" not in code.content(node):
            continue
        for array in of_type(node, "array_declarator"):
            size = array.child_by_field_name("size")
            if size is not None:
                yield became(code, size, f"{in_brackets(code, size)} - 1")
                yield became(code, size, f"({in_brackets(code, size)} + 1) / 2")
    for launch in code.file.launches:
        if launch.shared is not None:
            yield became(code, launch.shared, f"{in_brackets(code, launch.shared)} / 2")


def _products(code: Code) -> Iterator[Node]:
    """Every `a * b + c`."""
    for node in code.on_device("binary_expression"):
        left, sign, _ = sides(node)
        if sign == "+" and left.type == "binary_expression" and sides(left)[1] == "*":
            yield node


def _size(code: Code, array: Node) -> str:
    size = array.child_by_field_name("size")
    return code.content(size) if size is not None else ""


def _is_written(node: Node) -> bool:
    return node.parent is not None and node.parent.child_by_field_name("left") == node


OPERATORS = (
    Operator("wrong-pointer", "another pointer of the same type", wrong_pointer),
    Operator("wrong-offset", "the element behind the right one", wrong_offset),
    Operator("swapped-subscripts", "the indices of a tile the other way round", swapped_subscripts),
    Operator("swapped-factors", "row and column of an index the other way round", swapped_factors),
    Operator("wrong-stride", "another size as the length of a row", wrong_stride),
    Operator("wrong-layout", "the other layout of a fragment of wmma", wrong_layout),
    Operator("wrong-part", "another part of a vector", wrong_part),
    Operator("little-shared", "too little shared memory", little_shared),
)
