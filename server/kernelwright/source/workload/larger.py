"""A workload line with more rows: at a size at which a GPU is busy, so that what it takes can be measured.

Sizes hang together in ways that a line does not show. So there are several ways to a larger one, likely ones first, of which a
worker looks for one where what the call writes grows as well. The size that grows is one number, and others that grow with it
are written as its multiples, so that whoever changes that number changes them all.
"""

import ast
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kernelwright.source.workload.evaluate import WorkloadError, evaluate
from kernelwright.source.workload.launches import is_constant
from kernelwright.source.workload.lines import entry_of
from kernelwright.source.workload.signature import signature_of
from kernelwright.values import Call, TensorSpec

_LARGE = 1 << 24  # bytes of the largest tensor
_MOST_BYTES = 1 << 30  # of all tensors
_MOST_ROWS = 1 << 16
_MOST_BEHIND = (1 << 16) - 1  # programs of a grid's further axes
_MANY = 64  # programs of which there may be more than blocks
_SIZES_FIRST = frozenset({"randn", "rand", "zeros", "ones", "out", "empty", "full", "randperm"})
_MOST_NUMBERS = 8
_BYTES = {"64": 8, "32": 4, "16": 2}  # by how the name of a dtype ends; else 1
_BLOCKS, _ALL = "blocks", "all"


@dataclass(frozen=True)
class Way:
    """What grows: the leading sizes of these `tensors`, the argument `number` if any, and this `axis` of the grid.

    `programs`: whether these are one for `all` rows, or of `blocks`, or grow in proportion, "".
    """

    tensors: tuple[int, ...]
    number: int | None = None
    axis: int | None = None
    programs: str = ""


@dataclass(frozen=True)
class _Place:
    """A whole number that is written in a line."""

    start: int
    end: int
    value: int
    rank: int = 0  # of the tensor whose leading size it is
    name: str | int = ""  # of the argument that it is, or which one


@dataclass(frozen=True)
class _Line:
    tensors: tuple[_Place, ...]
    numbers: tuple[_Place, ...]
    grid: tuple[_Place, ...]


def ways(text: str, line: str) -> Iterator[Way]:
    """The ways in which a line of a text may be made larger, likely ones first; none where its tensors are large.

    A constant of a kernel does not grow: most are the sizes of blocks.
    """
    read = _read(line)
    if read is None or not read.tensors or not is_small(line):
        return
    matrices = tuple(at for at, one in enumerate(read.tensors) if one.rank > 1)
    first = matrices[0] if matrices else 0
    alike = tuple(at for at, one in enumerate(read.tensors) if one.value == read.tensors[first].value)
    sets = dict.fromkeys(filter(None, (matrices, alike, tuple(range(len(read.tensors))), (first,))))
    constants = _constants(text, entry_of(line))
    numbers = (at for at, one in enumerate(read.numbers) if one.name not in constants)
    for number in (None, *itertools.islice(numbers, _MOST_NUMBERS)):
        for axis in range(len(read.grid)) or (None,):
            few = axis is None or read.grid[axis].value < _MANY // 4
            for programs in ("",) if axis is None else (_ALL, "") if few else (_BLOCKS, ""):
                for tensors in sets:
                    yield Way(tensors, number, axis, programs)


def grown(line: str, way: Way, factor: int) -> str | None:
    """The line that many times as large; None where its numbers do not hang together that way."""
    read = _read(line)
    if read is None or max(way.tensors) >= len(read.tensors):
        return None
    places = [read.tensors[at] for at in way.tensors]
    unit = min(one.value for one in places)
    rows = unit * factor
    if way.number is not None:
        places.append(read.numbers[way.number])
    written = {one: _multiple(one.value, unit, rows) for one in places}
    if way.axis is not None:
        programs = read.grid[way.axis]
        many = {_ALL: unit, _BLOCKS: 1}.get(way.programs, programs.value)
        written[programs] = _multiple(many, unit, rows) or (f"-(-{rows} // {unit // many})" if unit % many == 0 else "")
    if not all(written.values()):
        return None
    for place in sorted(written, key=lambda one: -one.start):
        line = f"{line[: place.start]}{written[place]}{line[place.end :]}"
    made = _evaluated(line)
    return line if made is not None and all(programs <= _MOST_BEHIND for programs in (made.grid or ())[1:]) else None


def at_full_size(line: str, way: Way) -> Iterator[tuple[str, int]]:
    """The line, grown so that a GPU is busy with it, and by which factor; with two numbers of rows.

    They are a number that the line has nowhere else, so that it can be changed alone. Three times a power of two is never
    halved to a power of two that the line has, too; some kernels take powers of two alone.
    """
    read = _read(line)
    assert read is not None
    unit = min(read.tensors[at].value for at in way.tensors)
    known = {node.value for node in ast.walk(ast.parse(line, mode="eval")) if isinstance(node, ast.Constant)}
    for odd in (1, 3):
        found, factor = None, odd
        while unit * (factor := 2 * factor) <= _MOST_ROWS:
            made = grown(line, way, factor)
            if made is None or sum(_sizes(made)) > _MOST_BYTES:
                break
            if unit * factor not in known:
                found = made, factor
                if not is_small(made):
                    break
        if found is not None:
            yield found


def is_small(line: str) -> bool:
    """Whether the largest tensor is smaller than what keeps a GPU busy."""
    return max(_sizes(line), default=0) < _LARGE


def _multiple(value: int, unit: int, rows: int) -> str:
    """What has that value where the rows are `unit`, for so many `rows`; "" where that cannot be said."""
    if value == unit:
        return str(rows)
    if value % unit == 0:
        return f"{rows} * {value // unit}"
    return f"{rows} * {value // unit} + 1" if value % unit == 1 and value > unit else ""


def _read(line: str) -> _Line | None:
    """Where the numbers of a line are; None for one of CUDA, and one whose tensors lie in memory of their own making."""
    if "<<<" in line or "strides=" in line or not line.isascii() or "\n" in line or _evaluated(line) is None:
        return None
    call = ast.parse(line, mode="eval").body
    assert isinstance(call, ast.Call)
    given = [*call.args, *(one.value for one in call.keywords)]
    tensors = [
        place
        for argument in given
        for node in ast.walk(argument)
        if isinstance(node, ast.Call) and (place := _leading(node)) is not None
    ]
    grid = call.func.slice if isinstance(call.func, ast.Subscript) else None
    axes = grid.elts if isinstance(grid, ast.Tuple) else [] if grid is None else [grid]
    programs = [_place(one) for one in axes]
    if grid is not None and (not all(programs) or not programs):
        return None
    names = (*range(len(call.args)), *(one.arg or "" for one in call.keywords))
    numbers = [
        replace(place, name=name)
        for name, one in zip(names, given, strict=True)
        if (place := _place(one)) is not None and place.value > 1
    ]
    return _Line(tuple(tensors), tuple(numbers), tuple(filter(None, programs)))


def _constants(text: str, entry: str) -> frozenset[str | int]:
    """The parameters of a kernel that are constants, by their names and by their places."""
    signature = signature_of(text, entry, decorated=True)
    if signature is None or signature.call is None:
        return frozenset()
    found = {parameter.arg for parameter, _ in signature.call.all() if is_constant(parameter)}
    return frozenset(found | {at for at, one in enumerate(signature.call.positional) if one.arg in found})


def _leading(made: ast.Call) -> _Place | None:
    """The leading size of a tensor, or the end of a range, which grows as it does."""
    name = made.func.id if isinstance(made.func, ast.Name) else ""
    sizes: Sequence[ast.expr]
    match name, made.args:
        case "arange", [ast.Constant(value=0), end, *_]:
            sizes = [end]
        case "randint", [_, _, *sizes]:
            pass
        case _, [ast.Tuple(elts=sizes), *_] if name in _SIZES_FIRST:
            pass
        case _, sizes if name in _SIZES_FIRST:
            pass
        case _:
            return None
    return _place(sizes[0], len(sizes)) if sizes else None


def _place(node: ast.expr, rank: int = 0) -> _Place | None:
    if (
        not isinstance(node, ast.Constant)
        or type(node.value) is not int
        or node.value < 1
        or node.end_col_offset is None
    ):
        return None
    return _Place(node.col_offset, node.end_col_offset, node.value, rank)


def _sizes(line: str) -> list[int]:
    """The bytes of each tensor that is an argument."""
    call = _evaluated(line)
    given = (*call.args, *call.kwargs.values()) if call is not None else ()
    specs = [one for value in given for one in (value if isinstance(value, tuple | list) else (value,))]
    return [
        math.prod(one.shape) * next((size for end, size in _BYTES.items() if one.dtype.endswith(end)), 1)
        for one in specs
        if isinstance(one, TensorSpec)
    ]


def _evaluated(line: str) -> Call | None:
    try:
        return evaluate(line)
    except WorkloadError:
        return None
