"""A text in which structures that are passed by value are so many parameters, and lines for it as lines with structures.

What is read of parameters by their names, as sizes and indices, so holds for fields, too.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence

from tree_sitter import Node

from kernelwright.source.cpp import structures_of
from kernelwright.source.cpp.structures import Field, paths
from kernelwright.source.cuda.definitions import File, Function, Launch, read_apart
from kernelwright.source.cuda.text import field, of_type
from kernelwright.source.cuda.types import is_number
from kernelwright.source.workload.evaluate import STRUCTURE, split_at_launch

_DOT = "_KW_"
_MOST_ELEMENTS = 64  # of an array that a line writes out
_NAME = re.compile(r"\w+")
Structures = Mapping[str, Sequence[Field]]


def flattened(file: File) -> File:
    """The file with a parameter for each field of a structure that a function takes; itself where none does.

    A structure stays as it is that has a field without a value of its own which is an array of anything but some numbers.
    """
    read = structures_of(file.source.text) if "struct" in file.source.text else {}
    known = {name: [_with_numbers(file, one) for one in fields] for name, fields in read.items()}
    edits = sorted({edit for one in file.functions for edit in _edits(file, one, known)})
    if not edits:
        return file
    source, parts, at = file.source.source, list[bytes](), 0
    for start, end, new in edits:
        if start >= at:
            parts += (source[at:start], new.encode())
            at = end
    return read_apart(b"".join((*parts, source[at:])).decode("utf-8", "replace"))


def _with_numbers(file: File, one: Field) -> Field:
    """An array of some numbers as a field of one type."""
    count = file.number(one.count) if one.is_array and one.count else None
    if count is None or not 0 < count <= _MOST_ELEMENTS or not is_number(file.aliases.get(one.type, one.type)):
        return one
    return dataclasses.replace(one, type=f"kw_array<{one.type}, {count}>", is_array=False)


def with_structures(line: str) -> str | None:
    """A line for a flattened text as one for the text itself; None where two fields that it counts with have one name."""
    head, rest = split_at_launch(line)
    if not head:
        head, _, rest = line.partition("(")
        rest = f"({rest}"
    given = [part.partition("=")[::2] for part in _split(rest.strip()[1:-1])]
    last = [name.rpartition(_DOT)[2] for name, _ in given]
    mentioned = _NAME.findall(f"{head} {' '.join(value for _, value in given)}")
    used = {name.rpartition(_DOT)[2] for name in mentioned if _DOT in name}
    if any(last.count(name) > 1 for name in used):
        return None
    return f"{_plain(head)}({_grouped([(name.split(_DOT), _plain(value)) for name, value in given])})"


def _plain(text: str) -> str:
    """The text with fields by their own names."""
    return _NAME.sub(lambda match: match[0].rpartition(_DOT)[2], text)


def _edits(file: File, function: Function, known: Structures) -> Iterator[tuple[int, int, str]]:
    taken = {one.name: _fields(known, one.base) for one in function.parameters if not one.is_pointer}
    for one in function.parameters:
        if fields := taken.get(one.name):
            made = ", ".join(f"{kind} {_DOT.join((one.name, *path))}" for path, kind in fields)
            yield one.node.start_byte, one.node.end_byte, made
    for node in of_type(function.body, "field_expression") if any(taken.values()) else ():
        chain = _chain(file, node)
        if chain and taken.get(chain[0]) and tuple(chain[1:]) in {path for path, _ in taken[chain[0]]}:
            yield node.start_byte, node.end_byte, _DOT.join(chain)
    for launch in file.launches:
        kernel = file.kernel(launch.kernel)
        if launch.function is function and kernel is not None:
            yield from _passed_on(file, launch, kernel, known)


def _passed_on(file: File, launch: Launch, kernel: Function, known: Structures) -> Iterator[tuple[int, int, str]]:
    """A structure that a launch is given, as so many arguments."""
    for one, argument in zip(kernel.parameters, launch.arguments, strict=False):
        if not one.is_pointer and (fields := _fields(known, one.base)):
            name = file.source.content(argument) if argument.type == "identifier" else "unknown"
            made = ", ".join(_DOT.join((name, *path)) for path, _ in fields)
            yield argument.start_byte, argument.end_byte, made


def _fields(known: Structures, kind: str) -> list[tuple[tuple[str, ...], str]]:
    """The path and the type of each field that has to be given; none where one of them is an array."""
    found = [(tuple(path.split(".")), one) for path, one in paths(known, kind) if not one.has_default]
    return [] if any(one.is_array for _, one in found) else [(path, one.type) for path, one in found]


def _chain(file: File, node: Node) -> list[str]:
    """The names of `p.inner.n`; none where it is no chain of them."""
    argument, name = field(node, "argument"), field(node, "field")
    if argument is None or name is None or b"->" in file.source.source[argument.end_byte : name.start_byte]:
        return []
    before = [file.source.content(argument)] if argument.type == "identifier" else _chain(file, argument)
    return [*before, file.source.content(name)] if before else []


def _split(listed: str) -> list[str]:
    """The arguments between commas that no bracket holds."""
    parts, depth = [""], 0
    for sign in listed:
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [one.strip() for one in parts if one.strip()]


def _grouped(given: Sequence[tuple[Sequence[str], str]]) -> str:
    """The arguments, those with the same first name as fields of one structure."""
    parts: dict[str, list[tuple[Sequence[str], str]]] = {}
    for (first, *path), value in given:
        parts.setdefault(first, []).append((path, value))
    made = (
        f"{name}={values[0][1]}" if not values[0][0] else f"{name}={STRUCTURE}({_grouped(values)})"
        for name, values in parts.items()
    )
    return ", ".join(made)
