"""A kernel in other words that mean the same, for strategies that do not know it as it is written."""

import functools
import re
from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import unsettled
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda import File, Launch
from kernelwright.source.cuda.accesses import Access
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.extents import dimensions
from kernelwright.source.cuda.text import field, is_inside, of_type, walk

_NAMES = ("identifier", "type_identifier")  # `dim3 block(threads)` reads as the declaration of a function
_SUMMAND = re.compile(r"[\w.*\s]+|\([^()]*\)")


@functools.lru_cache(maxsize=4)
def forms(sight: CudaSight) -> tuple[CudaSight, ...]:
    """The kernel in other forms, those that change least first."""
    numbers = with_numbers(sight)
    pointers = without_pointers(numbers or sight)
    return tuple(one for one in (numbers, pointers) if one is not None)


def with_numbers(sight: CudaSight) -> CudaSight | None:
    """The kernel in a text whose launches have numbers for the parameters that their blocks are made of.

    For changes that hang on how many threads a block has: `void softmax(..., int block_size)` leaves that to its caller, and
    the workload line says how many. None where nothing is to be written; a size that kernels are given is none of these.
    """
    if sight.is_entry:
        return None
    patch = sight.patch()
    asked = {name for one in sight.launches if one.block is not None for name in _read(sight.file, one)}
    for function in {one.function.node.start_byte: one.function for one in sight.launches}.values():
        numbers = sight.numbers_given(function)
        for node in of_type(function.body, *_NAMES):
            if (name := sight.content(node)) in asked & numbers.keys():
                patch.replace(node, str(numbers[name]))
    return sight.rewritten(patch.text) if patch.text != sight.source else None


def _read(file: File, launch: Launch) -> frozenset[str]:
    """The names that the block of a launch is made of."""
    names, found = Names(file, launch.function), set[str]()
    assert launch.block is not None
    waiting = list(dimensions(file, launch, launch.block))
    while waiting:
        node = waiting.pop()
        for name in {file.source.content(one) for one in (node, *of_type(node, *_NAMES))} - found:
            found.add(name)
            waiting += [names.values[name]] if name in names.values else []
    return frozenset(found)


def without_pointers(sight: CudaSight) -> CudaSight | None:
    """The kernel in a text without its local pointers: for `row[j]` of `row = x + i * n` it has `x[i * n + j]`.

    None where none of them is only read or written like this.
    """
    patch = sight.patch()
    for declaration, uses, offset in _pointers(sight):
        for one in uses:
            patch.replace(one.node, f"{one.base}[{offset} + {_summand(sight.content(one.indices[0]))}]")
        patch.cut(declaration)
    return sight.rewritten(patch.text) if patch.text != sight.source else None


def _pointers(sight: CudaSight) -> Iterator[tuple[Node, list[Access], str]]:
    """The declarations of local pointers, each with its uses and the code of how far it is behind its parameter."""
    subscripts = [one.node for one in sight.accesses if one.start is not None]
    for declaration in of_type(sight.kernel.body, "declaration"):
        made = list(of_type(declaration, "init_declarator"))
        target = field(made[0], "declarator") if len(made) == 1 else None
        name = next((sight.content(one) for one in of_type(target, "identifier")), "") if target is not None else ""
        uses = [one for one in sight.accesses if one.start is not None and _array(sight, one) == name]
        offset = _offset(sight, sight.names.values.get(name))
        mentions = sum(sight.content(one) == name for one in of_type(sight.kernel.body, "identifier"))
        nested = any(is_inside(one.node, other) and one.node != other for one in uses for other in subscripts)
        if offset is not None and uses and mentions == len(uses) + 1 and not nested:
            yield declaration, uses, offset


def _array(sight: CudaSight, access: Access) -> str:
    """What stands in front of the subscript."""
    argument = field(access.node, "argument")
    return sight.content(argument) if argument is not None else ""


def _offset(sight: CudaSight, start: Node | None) -> str | None:
    """The code of `i * n` in `x + i * n`; None where it has another value in another place."""
    left, sign, right = (field(start, part) for part in ("left", "operator", "right"))
    if left is None or right is None or sign is None or sight.content(sign) != "+" or left.type != "identifier":
        return None
    if unsettled(sight.names, right) or any(
        one.type in ("call_expression", "subscript_expression") for one in walk(right)
    ):
        return None
    return _summand(sight.content(right))


def _summand(code: str) -> str:
    return code if _SUMMAND.fullmatch(code) else f"({code})"
