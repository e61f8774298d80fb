"""Kernels of two dimensions, or of several elements an index, in which a thread takes neighbours along x with vectors."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import unsettled
from kernelwright.micro.rewrite.cuda_grid import Division, Geometry, geometry
from kernelwright.micro.rewrite.cuda_guarded import declared, hidden_access
from kernelwright.micro.rewrite.cuda_independent import declared_in, tied, works_together
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_pointers import UNKNOWN, mentions, uses
from kernelwright.micro.rewrite.cuda_region import Change, indented, region, regrid, unit_of, unused
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_threads import Axis, Elementwise, Guarded, covered, guarded
from kernelwright.micro.rewrite.cuda_vectorise import BYTES, VECTORS, array_name, is_always
from kernelwright.source.cuda import Parameter
from kernelwright.source.cuda.accesses import Access, flat_index
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.values import Refusal

_BUSY = ("call_expression", "subscript_expression", "pointer_expression", "update_expression", "assignment_expression")
_WIDEST = 16  # bytes of one load
_MOST_EACH = 4  # elements of an index


@dataclass(frozen=True, eq=False)
class Moved:
    """A pointer behind which each index has `each` elements beside each other; `places` are its subscripts by element."""

    parameter: Parameter
    size: int
    each: int
    places: tuple[tuple[Access, int], ...]

    @property
    def first(self) -> Access:
        return next(access for access, place in self.places if place == 0)

    def chunk(self, width: int) -> int:
        """The bytes of the widest loads that `width` indices are made of."""
        whole = self.size * self.each * width
        return min(_WIDEST, whole & -whole)

    @property
    def is_loaded(self) -> bool:
        return any(access.reads for access, _ in self.places)

    @property
    def stores(self) -> tuple[int, ...]:
        """Where elements are stored."""
        return tuple(access.node.start_byte for access, _ in self.places if access.writes)


@dataclass(frozen=True, eq=False)
class RowVectors:
    """`setup` are the declarations under the guard that say where the elements are."""

    axis: Axis
    threads: Guarded
    launch: Geometry
    division: Division
    moved: tuple[Moved, ...]
    setup: tuple[Node, ...]

    @property
    def widths(self) -> tuple[int, ...]:
        """How many indices one thread may take, the most first."""
        most = _WIDEST // max(one.size for one in self.moved)
        return tuple(width for width in (most, most // 2, most // 4) if width > 1)


def row_vectorisable(sight: CudaSight) -> RowVectors | Refusal:
    """What vectors along x may be made of, or why nothing."""
    launch = sight.launch
    if isinstance(launch, Refusal):
        return launch
    line, shape = launch.node.start_point.row, geometry(sight.file, launch, sight.numbers_given(launch.function))
    if shape is None:
        return Refusal("The threads of a block are no number that this file says.", line)
    threads = guarded(sight.names, shape.block)
    if isinstance(threads, Refusal):
        return threads
    axis = threads.axis("x")
    if axis is None:
        return Refusal("The kernel's guard does not bound an index along x.", line)
    division = covered(sight.names, shape, axis)
    if isinstance(division, Refusal):
        return division
    loop = next(of_type(sight.kernel.body, "for_statement", "while_statement", "do_statement"), None)
    if loop is not None:
        return Refusal("A thread's work is a loop, so more of it is not more loads at once.", loop.start_point.row)
    elsewhere = mentions(sight.file, sight.kernel)
    if elsewhere:
        return Refusal("The kernel is used in another place, too.", elsewhere[0].start_point.row)
    body = threads.body
    span = body[0].start_byte, body[-1].end_byte
    each = Elementwise(axis.index, axis.type, axis.bound, threads.setup, body, span, span, None, axis)
    why = works_together(sight.file, sight.kernel) or tied(sight.names, each, ("x",))
    if why is not None:
        return why
    hidden = next(filter(None, (hidden_access(sight, one) for one in body)), None)
    if hidden is not None:
        return Refusal(f"`{sight.content(hidden)}` may be any element.", hidden.start_point.row)
    moved = _moved(sight, axis, body)
    if isinstance(moved, Refusal):
        return moved
    setup = _setup(sight, body, moved)
    known = {name for one in setup for name in declared(sight, one)}
    missing = declared_in(sight.names, body) & _behind(sight, moved) - known
    if missing:
        return Refusal(
            f"Where an element lies follows from `{min(missing)}`, which is read or called.", body[0].start_point.row
        )
    return RowVectors(axis, threads, shape, division, moved, setup)


def _moved(sight: CudaSight, axis: Axis, body: tuple[Node, ...]) -> tuple[Moved, ...] | Refusal:
    found = list[Moved]()
    stores = [one for one in sight.accesses if one.space == "global" and one.writes]
    for parameter in (one for one in sight.kernel.parameters if one.is_pointer):
        every = [one for one in sight.accesses if one.base == parameter.name]
        followed = uses(sight.file, sight.kernel, parameter.name)
        line = parameter.node.start_point.row
        known = {one.node.start_byte for one in every}
        if any(one.kind == UNKNOWN or one.node.start_byte not in known for one in followed):
            return Refusal(f"What is done with {parameter.name} cannot be followed.", line)
        is_written = any(one.writes for one in every)
        whole = _whole(sight, axis, body, parameter, every)
        if isinstance(whole, Moved):
            found.append(whole)
        elif is_written:
            return Refusal(whole, line)
        if any(
            _is_before(store, load) for store in stores if store.base != parameter.name for load in every if load.reads
        ):
            return Refusal(f"{parameter.name} is read after a store that may have changed it.", line)
    if not any(one.stores for one in found):
        return Refusal("The kernel stores nothing.", sight.kernel.name_node.start_point.row)
    spans = sorted((min(each), max(each), one.parameter.name) for one in found if (each := one.stores))
    for (_, last, name), (first, _, other) in itertools.pairwise(spans):
        if first < last:
            return Refusal(f"{name} and {other} are stored in turns.", sight.kernel.name_node.start_point.row)
    return tuple(sorted(found, key=lambda one: max(one.stores, default=0)))


def _is_before(store: Access, load: Access) -> bool:
    """Whether a store stands in a statement ahead of a load."""
    statement = store.node
    while statement.parent is not None and statement.type != "expression_statement":
        statement = statement.parent
    return statement.end_byte <= load.node.start_byte


def _whole(
    sight: CudaSight, axis: Axis, body: tuple[Node, ...], parameter: Parameter, every: list[Access]
) -> Moved | str:
    """The pointer, where each index has elements of its own beside each other, all of which are accessed; or why not."""
    name = parameter.name
    size = BYTES.get(sight.file.aliases.get(parameter.base, parameter.base))
    if size is None or parameter.pointers != 1 or "volatile" in sight.content(parameter.node):
        return f"{name} is no plain array of numbers of a known size."
    names = Names(sight.file, sight.kernel, frozenset({axis.index}))
    indices = [flat_index(names, one) for one in every]
    steps = [one.coefficient(axis.index) if one is not None else None for one in indices]
    each = steps[0].number if steps and steps[0] is not None else None
    if each is None or not 1 <= each <= _MOST_EACH or any(one is None or one.number != each for one in steps):
        return f"The elements of {name} do not lie beside each other along {axis.index}."
    apart = [(one - indices[0]).number if one is not None and indices[0] is not None else None for one in indices]
    numbers = [one for one in apart if one is not None]
    places = tuple((one, number - min(numbers)) for one, number in zip(every, numbers, strict=False))
    if len(numbers) != len(every):
        return f"{name} is accessed at places that are no constant distance apart."
    begins = next(index for index, (_, place) in zip(indices, places, strict=True) if place == 0)
    loose = next(filter(None, (unsettled(sight.names, part) for one in every for part in one.indices)), None)
    word = re.compile(rf"\b{axis.index}\b")
    if loose is not None or any(word.search(part) for one in indices if one for part in one.without(axis.index).names):
        return f"Where an element of {name} lies follows from more than {axis.index}."
    if begins is None or begins.constant % (_WIDEST // size):
        return f"{name} is accessed at another index than {axis.index}."
    certain = [(one, place) for one, place in places if is_always(body, one.node)]
    for kind in ("store", "load"):
        of_kind = [(one, place) for one, place in places if (one.writes if kind == "store" else one.reads)]
        sure = {place for one, place in certain if (one.writes if kind == "store" else one.reads)}
        stored_first = kind == "load" and any(one.writes for one in every)
        if of_kind and not stored_first and sure != set(range(each)):
            return f"Not every element of {name} is accessed for every {axis.index}."
    return Moved(parameter, size, each, places)


def _setup(sight: CudaSight, body: tuple[Node, ...], moved: tuple[Moved, ...]) -> tuple[Node, ...]:
    """The declarations of the body that the first element of each pointer is made of, in order."""
    plain = (one for one in body if one.type == "declaration" and not any(of_type(one, *_BUSY)))
    return tuple(one for one in plain if declared(sight, one) & _behind(sight, moved))


def _behind(sight: CudaSight, moved: tuple[Moved, ...]) -> frozenset[str]:
    return frozenset(name for one in moved for name in sight.names.behind(one.first.node))


def row_vectorised(sight: CudaSight, found: RowVectors, width: int) -> Patch | Refusal:
    """The text with `width` neighbours along x for each thread, one by one where an address is not aligned."""
    patch, source, kernel = sight.patch(), sight.file.source, sight.kernel
    index, body = found.axis.index, found.threads.body
    for guard in found.threads.guards:
        condition = field(guard, "condition")
        assert condition is not None
        for node in of_type(condition, "identifier"):
            if sight.content(node) == index:
                patch.replace(node, f"{width} * {index}")
    unit, margin = unit_of(source, kernel), indent_of(source, body[0])
    lines, last = _lines(sight, found, width, unit), found.threads.guards[-1]
    inside = None if found.threads.returns else field(last, "consequence")
    if inside is not None and body[0].start_point.row == inside.start_point.row:
        outer = indent_of(source, last)
        patch.replace(inside, "\n".join(["{", *indented(lines, outer + unit), outer + "}"]))
    else:
        patch.between(body[0].start_byte, body[-1].end_byte, "\n".join(indented(lines, margin)).lstrip())
    change = found.division.fewer(sight.content, width)
    return regrid(patch, sight.file, found.launch, found.division.node, [change]) or patch


def _lines(sight: CudaSight, found: RowVectors, width: int, unit: str) -> list[str]:
    source, file, kernel, axis, body = sight.file.source, sight.file, sight.kernel, found.axis, found.threads.body
    first = unused(file, kernel, "first", "begin", "first_index")
    each = unused(file, kernel, "j", "e", "element")
    k, part = unused(file, kernel, "k", "lane", "c"), unused(file, kernel, "p", "part", "chunk")
    arrays = {one.parameter.name: unused(file, kernel, array_name(one.parameter.name, width)) for one in found.moved}
    begins = {one.parameter.name: unused(file, kernel, f"{one.parameter.name}_first") for one in found.moved}
    changes: list[Change] = []
    for one in found.moved:
        for access, place in one.places:
            inner = k if one.each == 1 else f"{one.each} * {k}" + (f" + {place}" if place else "")
            changes.append((access.node.start_byte, access.node.end_byte, f"{arrays[one.parameter.name]}[{inner}]"))
    outside = [access.node for one in found.moved for access, _ in one.places]
    span = body[0].start_byte, body[-1].end_byte
    inside = list(_index(sight, body, axis.index, each, outside))
    lanes = region(source, span, [*changes, *inside])
    if inside:
        lanes = [f"const {axis.type} {each} = {first} + {k};", *lanes]
    addresses = []
    for one in found.moved:
        name, node = one.parameter.name, one.first.node
        const = "" if one.stores else "const "
        written = "".join(
            region(source, (node.start_byte, node.end_byte), _index(sight, (node,), axis.index, first, []))
        )
        addresses.append(f"{const}{one.parameter.base}* {begins[name]} = &{written};")
    setup = [
        line
        for one in found.setup
        for line in region(source, (one.start_byte, one.end_byte), _index(sight, (one,), axis.index, first, []))
    ]
    return [
        f"const {axis.type} {first} = {width} * {axis.index};",
        *setup,
        *addresses,
        f"if ({first} + {width - 1} < {sight.content(axis.bound)} && {_aligned(found, begins, width)}) {{",
        *indented(
            [
                *(
                    f"alignas({one.chunk(width)}) {one.parameter.base} {arrays[one.parameter.name]}[{one.each * width}];"
                    for one in found.moved
                ),
                *(
                    line
                    for one in found.moved
                    if one.is_loaded
                    for line in _copy(one, arrays, begins, width, part, unit, True)
                ),
                "#pragma unroll",
                f"for (int {k} = 0; {k} < {width}; ++{k}) {{",
                *indented(lanes, unit),
                "}",
                *(
                    line
                    for one in found.moved
                    if one.stores
                    for line in _copy(one, arrays, begins, width, part, unit, False)
                ),
            ],
            unit,
        ),
        "} else {",
        *indented(
            [
                f"for ({axis.type} {each} = {first}; {each} < {sight.content(axis.bound)} && {each} < {first} + {width}; "
                f"++{each}) {{",
                *indented(region(source, span, _index(sight, body, axis.index, each, [])), unit),
                "}",
            ],
            unit,
        ),
        "}",
    ]


def _aligned(found: RowVectors, begins: dict[str, str], width: int) -> str:
    chunks = dict.fromkeys(one.chunk(width) for one in found.moved)
    tests = []
    for chunk in chunks:
        names = [begins[one.parameter.name] for one in found.moved if one.chunk(width) == chunk]
        either = " | ".join(f"reinterpret_cast<size_t>({name})" for name in names)
        tests.append(f"({either}) % {chunk} == 0" if len(names) > 1 else f"{either} % {chunk} == 0")
    return " && ".join(tests)


def _copy(
    one: Moved, arrays: dict[str, str], begins: dict[str, str], width: int, part: str, unit: str, loads: bool
) -> Iterator[str]:
    """The elements from memory to the array, or back, in as wide parts as there are."""
    name, chunk = one.parameter.name, one.chunk(width)
    vector, count = VECTORS[chunk], one.size * one.each * width // chunk
    into, start = (arrays, begins) if loads else (begins, arrays)
    at = f"[{part}]" if count > 1 else ""
    star = "" if count > 1 else "*"
    if count > 1:
        yield "#pragma unroll"
        yield f"for (int {part} = 0; {part} < {count}; ++{part})"
    yield (unit if count > 1 else "") + (
        f"{star}reinterpret_cast<{vector}*>({into[name]}){at} = {star}reinterpret_cast<const {vector}*>({start[name]}){at};"
    )


def _index(sight: CudaSight, nodes: tuple[Node, ...], index: str, new: str, outside: list[Node]) -> Iterator[Change]:
    """The index by its new name, apart from where whole subscripts are changed."""
    for statement in nodes:
        for node in of_type(statement, "identifier"):
            if sight.content(node) == index and not any(is_inside(node, one) for one in outside):
                yield node.start_byte, node.end_byte, new
