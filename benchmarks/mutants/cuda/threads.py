"""Mistakes with what threads share: barriers, their numbers, shuffles, atomics, and the size of a launch."""

import re
from collections.abc import Iterator

from benchmarks.mutants.cuda.syntax import Code, arguments, became, called, dropped, in_brackets
from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Change, field, replaced, sides
from tree_sitter import Node

from kernelwright.source.cuda.extents import dimensions
from kernelwright.source.cuda.text import of_type

_BARRIERS = ("__syncthreads", "__syncwarp")
_OTHER_INDEX = {"threadIdx": "blockIdx", "blockIdx": "threadIdx", "blockDim": "gridDim", "gridDim": "blockDim"}
_OTHER_AXIS = {"x": "y", "y": "x", "z": "x"}
_OTHER_SHUFFLE = {"down": "up", "up": "down", "xor": "down"}
_SHUFFLE = re.compile(r"__shfl_(down|up|xor)_sync")


def _barriers(code: Code) -> Iterator[Node]:
    for node in code.on_device("expression_statement"):
        call = next(iter(node.named_children), None)
        if call is not None and call.type == "call_expression" and called(code, call) in _BARRIERS:
            yield node


def missing_barrier(code: Code) -> Iterator[Fault]:
    return (dropped(code, node, ";") for node in _barriers(code))


def divergent_barrier(code: Code) -> Iterator[Fault]:
    return (became(code, node, f"if (threadIdx.x % 2 == 0) {code.content(node)}") for node in _barriers(code))


def wrong_index(code: Code) -> Iterator[Fault]:
    for node in code.on_device("field_expression"):
        what, axis = code.content(field(node, "argument")), code.content(field(node, "field"))
        if what not in _OTHER_INDEX:
            continue
        yield became(code, node, f"{_OTHER_INDEX[what]}.{axis}")
        if what.endswith("Idx"):
            yield became(code, node, f"{what}.{_OTHER_AXIS[axis]}")


def wrong_shuffle(code: Code) -> Iterator[Fault]:
    for node in code.on_device("call_expression"):
        found = _SHUFFLE.fullmatch(called(code, node))
        if found is None:
            continue
        mask, value, distance = arguments(node)[:3]
        yield became(code, field(node, "function"), f"__shfl_{_OTHER_SHUFFLE[found[1]]}_sync")
        yield became(code, mask, f"({code.content(mask)} >> 1)")
        yield became(code, distance, f"{in_brackets(code, distance)} / 2")
        yield became(code, node, code.content(value))
    for node in code.on_device("for_statement"):
        if "__shfl_" in code.content(node):
            for number in of_type(field(node, "initializer"), "number_literal"):
                yield became(code, number, str(int(code.content(number)) // 2))


def lost_atomic(code: Code) -> Iterator[Fault]:
    for node in code.on_device("call_expression"):
        if called(code, node) == "atomicAdd":
            place, value = arguments(node)[:2]
            yield became(code, node, f"*({code.content(place)}) += {code.content(value)}")


def short_grid(code: Code) -> Iterator[Fault]:
    for node in code.on_host("binary_expression"):
        left, sign, _ = sides(node)
        first = left
        while first.type in ("parenthesized_expression", "binary_expression"):
            first = first.named_children[0]
        if sign == "/" and first.id != left.id:
            words = f"the grid is rounded down: {code.content(node)}"
            yield Fault((replaced(left, in_brackets(code, first)),), words)
    for launch in code.file.launches:
        for size in dimensions(code.file, launch, launch.grid) if launch.grid is not None else ():
            yield became(code, size, f"{in_brackets(code, size)} - 1")


def small_block(code: Code) -> Iterator[Fault]:
    """In the launch alone: where the number of blocks follows that of threads, half of them are no fault."""
    for launch in code.file.launches:
        block = launch.block
        if block is None:
            continue
        text = code.content(block)
        if block.type == "call_expression" and arguments(block):
            yield became(code, arguments(block)[0], f"{in_brackets(code, arguments(block)[0])} / 2")
        elif re.search(rf"\bdim3\b[^;]*\b{re.escape(text)}\b", code.document.text):
            yield became(code, block, f"dim3({text}.x / 2, {text}.y, {text}.z)")
        else:
            yield became(code, block, f"{in_brackets(code, block)} / 2")


def swapped_arguments(code: Code) -> Iterator[Fault]:
    for launch in code.file.launches:
        kernel = code.file.kernel(launch.kernel)
        takes = [(one.base, one.pointers, one.is_const) for one in kernel.parameters] if kernel is not None else []
        given = launch.arguments
        for at in range(1, min(len(takes), len(given))):
            if takes[at - 1] == takes[at]:
                one, other = given[at - 1], given[at]
                yield Fault(
                    (replaced(one, code.content(other)), replaced(other, code.content(one))),
                    f"{code.content(one)} and {code.content(other)} are swapped in the launch",
                )


def late_barrier(code: Code) -> Iterator[Fault]:
    """A barrier behind the statement that follows it in the same block, where that may touch memory."""
    for node in _barriers(code):
        after = node.next_named_sibling
        if after is not None and next(of_type(after, "subscript_expression"), None) is not None:
            text = code.document.source[after.start_byte : after.end_byte].decode()
            changes = (
                Change(node.start_byte, node.end_byte, ""),
                Change(after.end_byte, after.end_byte, f" {code.content(node)}"),
            )
            yield Fault(changes, f"a barrier comes after: {' '.join(text.split())[:60]}")


OPERATORS = (
    Operator("missing-barrier", "a barrier left out", missing_barrier),
    Operator("divergent-barrier", "a barrier that half of the threads come to", divergent_barrier),
    Operator("late-barrier", "a barrier behind what it should be in front of", late_barrier),
    Operator("wrong-index", "another number of a thread or block, or another axis", wrong_index),
    Operator("wrong-shuffle", "another lane, mask or first distance of a shuffle", wrong_shuffle),
    Operator("lost-atomic", "a plain addition where several threads add", lost_atomic),
    Operator("short-grid", "a grid rounded down, or with one block too few", short_grid),
    Operator("small-block", "a block of half the threads", small_block),
    Operator("swapped-arguments", "two arguments of a launch the other way round", swapped_arguments),
)
