"""A loop in which every thread reads the same elements, through a tile of them that the threads of a block load together."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, hiding_macro, named, plain, substituted
from kernelwright.micro.rewrite.cuda_guarded import Guarded, declared, guarded, hidden_access, type_of
from kernelwright.micro.rewrite.cuda_independent import declared_in, jumping_macro, works_together
from kernelwright.micro.rewrite.cuda_matmul import POSITIONS, counts, limit_of
from kernelwright.micro.rewrite.cuda_patch import Patch
from kernelwright.micro.rewrite.cuda_region import Change, indented, region, unit_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda import Parameter
from kernelwright.source.cuda.accesses import Access
from kernelwright.source.cuda.expressions import Loop, Names
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.values import Refusal

UNROLLED = (8, 4, 16)
_BYTES = {
    **dict.fromkeys(("char", "unsigned char", "bool", "int8_t", "uint8_t"), 1),
    **dict.fromkeys(("short", "unsigned short", "half", "__half", "__nv_bfloat16"), 2),
    **dict.fromkeys(("float", "int", "unsigned", "unsigned int", "int32_t", "uint32_t"), 4),
    **dict.fromkeys(("double", "float2", "int2", "int64_t"), 8),
    **dict.fromkeys(("float4", "int4", "double2"), 16),
    "float3": 12,
}
_SHARED = 48 * 1024
_JUMPS = ("return_statement", "break_statement", "goto_statement", "lambda_expression")


@dataclass(frozen=True, eq=False)
class Staged:
    """`loop` runs up to `count`, and reads elements that are the same for all threads, each a name of its tile.

    `index` counts the threads, of which there are `block` in a block, up to `extent`.
    """

    parts: Guarded
    loop: Loop
    count: Node
    index: str
    extent: Node
    block: int
    loads: dict[str, tuple[Access, ...]]

    @property
    def bases(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one[0].base for one in self.loads.values()))


def staged(sight: CudaSight) -> tuple[Staged, tuple[tuple[int, Patch], ...]] | Refusal:
    """The loop, and the kernel with its tiles for several numbers of turns at once."""
    found = _staged(sight)
    if isinstance(found, Refusal):
        return found
    return found, tuple((unrolled, _written(sight, found, unrolled)) for unrolled in UNROLLED)


def _staged(sight: CudaSight) -> Staged | Refusal:
    kernel, block = sight.kernel, sight.any_block
    refused = works_together(sight.file, kernel)
    hidden = hiding_macro(sight.names, kernel.body) or jumping_macro(sight.file, kernel)
    loop = next((one for one in sight.names.loops if not sight.names.loops_around(one.node)), None)
    if refused is not None:
        return refused
    if isinstance(block, Refusal):
        return block
    if hidden is not None:
        return Refusal(
            f"The macro {sight.content(hidden)} speaks of the kernel's own names, or leaves it.", hidden.start_point.row
        )
    if loop is None:
        return Refusal("The kernel has no loop that counts.", kernel.name_node.start_point.row)
    line = loop.node.start_point.row
    if block[0] % 32 or any(size != 1 for size in block[1:]):
        return Refusal("The blocks are not whole warps in one dimension.", line)
    parts = guarded(sight, loop.node)
    if isinstance(parts, Refusal):
        return parts
    counted = _counted(sight, parts)
    if isinstance(counted, Refusal):
        return counted
    count = _count(sight, loop)
    if isinstance(count, Refusal):
        return count
    loads = _loads(sight, loop)
    if isinstance(loads, Refusal):
        return loads
    size = sum(_size(sight, one[0]) for one in loads.values()) * block[0]
    if not 0 < size <= _SHARED:
        return Refusal(
            "The elements have no size that the text shows, or do not fit the shared memory of a block.", line
        )
    return Staged(parts, loop, count, *counted, block[0], loads)


def _counted(sight: CudaSight, parts: Guarded) -> tuple[str, Node] | Refusal:
    """The local that counts threads, and the parameter up to which it does: all that the guard asks for."""
    line = parts.work.start_point.row
    if len(parts.bounds) != 1:
        return Refusal("The guard asks for more than one thing.", line)
    for one in parts.head:
        for name in declared(sight, one):
            extent = limit_of(sight, parts.bounds[0].node, parts.bounds[0].negated, name)
            if extent is None or not all(counts(each, name, "x") for each in sight.apart):
                continue
            parameter = sight.kernel.parameter(sight.content(extent))
            alone = len(declared(sight, one)) == 1 and type_of(sight, name) == "int"
            if parameter is None or not _is_int(sight, parameter) or not alone:
                return Refusal(f"`{name}` and how far it goes are not counted as ints.", one.start_point.row)
            places = (
                each for each in named(sight.file.source, sight.kernel.body, POSITIONS) if not is_inside(each, one)
            )
            stray = next(places, None)
            if stray is not None:
                return Refusal(f"`{sight.content(stray)}` is used besides `{name}`.", stray.start_point.row)
            return name, extent
    return Refusal("The guard does not say how far the threads of the grid go.", line)


def _count(sight: CudaSight, loop: Loop) -> Node | Refusal:
    """Where a loop ends that begins at 0, counts an int in steps of 1, the same number of turns for all threads."""
    line, source = loop.node.start_point.row, sight.file.source
    sign, end, kind = (
        field(loop.condition, "operator"),
        field(loop.condition, "right"),
        field(loop.node, "initializer", "type"),
    )
    counts_up = loop.update is not None and plain(source, loop.update) in (f"++{loop.variable}", f"{loop.variable}++")
    if sign is None or end is None or kind is None or sight.content(sign) != "<" or not counts_up:
        return Refusal("The loop does not count up in steps of 1.", line)
    parameter = sight.kernel.parameter(sight.content(end))
    is_int = parameter is not None and _is_int(sight, parameter)
    if sight.content(kind) != "int" or sight.names.number(loop.start) != 0 or not (is_int or sight.names.number(end)):
        return Refusal("The loop does not run from 0 to an int.", line)
    jump = next(of_type(loop.node, *_JUMPS), None) or hidden_access(sight, loop.node)
    changed = [one for one in of_type(loop.body, "assignment_expression", "update_expression")
               if (target := field(one, "left") or field(one, "argument")) is not None
               and sight.content(target) == loop.variable]  # fmt: skip
    if jump is not None or changed:
        return Refusal("The loop may end early, or touch memory that its subscripts do not show.", line)
    return end


def _is_int(sight: CudaSight, parameter: Parameter) -> bool:
    """Whether a parameter is an int that the kernel leaves as it is."""
    return parameter.base == "int" and not parameter.is_pointer and not sight.names.assigned.get(parameter.name)


def _loads(sight: CudaSight, loop: Loop) -> dict[str, tuple[Access, ...]] | Refusal:
    """The loads of the loop that are the same for all threads and lie beside each other from turn to turn, by their tile."""
    line, found = loop.node.start_point.row, dict[str, list[Access]]()
    inside = [one for one in sight.accesses if is_inside(one.node, loop.body)]
    if any(one.writes and one.space != "local" for one in inside):
        return Refusal("The loop writes to memory.", line)
    names = Names(sight.file, sight.kernel, frozenset({loop.variable}))
    stored = {one.base for one in sight.accesses if one.writes}
    made = declared_in(sight.names, (loop.body,))
    for one in inside:
        parameter = sight.kernel.parameter(one.base)
        plainly = parameter is not None and parameter.pointers == 1 and not sight.names.assigned.get(one.base)
        if not plainly or len(one.indices) != 1 or one.start is not None or one.base in stored:
            continue
        step = names.polynomial(one.indices[0]).coefficient(loop.variable)
        behind = sight.names.behind(one.indices[0]) - {loop.variable}
        moving = {each for each in behind if sight.names.assigned.get(each) and each not in sight.names.values}
        if step is not None and step.number == 1 and not behind & POSITIONS and not moving and not behind & made:
            found.setdefault(f"{one.base}[{plain(sight.file.source, one.indices[0])}]", []).append(one)
    if not found:
        return Refusal("The loop reads no elements one after another that are the same for all threads.", line)
    return {key: tuple(ones) for key, ones in found.items()}


def _size(sight: CudaSight, access: Access) -> int:
    """Bytes of an element, of a struct in the text too; more than fit where nobody knows."""
    parameter = sight.kernel.parameter(access.base)
    kind = parameter.base if parameter is not None else ""
    for one in of_type(sight.file.source.tree.root_node, "struct_specifier"):
        name, body = field(one, "name"), field(one, "body")
        if name is not None and body is not None and sight.content(name) == kind:
            return sum(_fields(sight, each) for each in body.named_children)
    return _BYTES.get(sight.file.aliases.get(kind, kind), _SHARED + 1)


def _fields(sight: CudaSight, node: Node) -> int:
    if node.type == "comment":
        return 0
    kind, names = field(node, "type"), node.children_by_field_name("declarator")
    plainly = node.type == "field_declaration" and all(one.type == "field_identifier" for one in names)
    return len(names) * _BYTES.get(sight.content(kind), _SHARED + 1) if plainly and kind is not None else _SHARED + 1


def _written(sight: CudaSight, found: Staged, unrolled: int) -> Patch:
    unit, extent, index = unit_of(sight.file.source, sight.kernel), sight.content(found.extent), found.index
    thread = fresh(sight.file, "thread", f"own_{index}", "own_thread")
    lines = list[str]()
    tiles = dict(_tiles(sight, found))
    for one in found.parts.head:
        is_index = index in declared(sight, one)
        lines += _lines(sight, one, {index: thread} if is_index else {})
        lines += (
            [f"if ({extent} <= 0) return;", f"const int {index} = min({thread}, {extent} - 1);"] if is_index else []
        )
    for one in found.parts.between:
        lines += _lines(sight, one, {})
    after = [line for one in found.parts.after for line in _lines(sight, one, {})]
    lines += _loop(sight, found, tiles, unrolled, unit)
    lines += [f"if ({thread} < {extent}) {{", *indented(after, unit), "}"]
    shared = [
        f"__shared__ __align__(16) {_kind(sight, found.loads[key][0])} {name}[{found.block}];"
        for key, name in tiles.items()
    ]
    body = sight.kernel.body
    text = [line if line.startswith("#") else unit + line for line in (*shared, *lines)]
    return sight.patch().between(body.start_byte + 1, body.end_byte - 1, "\n" + "\n".join(text) + "\n")


def _tiles(sight: CudaSight, found: Staged) -> Iterator[tuple[str, str]]:
    taken = set[str]()
    for key, loads in found.loads.items():
        name = fresh(sight.file, f"{loads[0].base}_tile", f"tile_of_{loads[0].base}")
        while name in taken:
            name += "_"
        taken.add(name)
        yield key, name


def _kind(sight: CudaSight, access: Access) -> str:
    parameter = sight.kernel.parameter(access.base)
    assert parameter is not None
    return parameter.base


def _loop(sight: CudaSight, found: Staged, tiles: dict[str, str], unrolled: int, unit: str) -> list[str]:
    """The loop over tiles: all threads load one, wait, go through it, and wait before it is written over."""
    source, variable, body, end = sight.file.source, found.loop.variable, found.loop.body, sight.content(found.count)
    first = fresh(sight.file, f"{variable}0", f"first_{variable}")
    turns = fresh(sight.file, "turns", f"turns_of_{variable}")
    turn = fresh(sight.file, "turn", f"turn_of_{variable}")
    pragma = sight.content(found.parts.pragma).strip() if found.parts.pragma else f"#pragma unroll {unrolled}"
    loads, changes = list[str](), list[Change]()
    for key, ones in found.loads.items():
        index = substituted(source, ones[0].indices[0], {variable: f"{first} + (int)threadIdx.x"})
        loads.append(f"{tiles[key]}[threadIdx.x] = {ones[0].base}[{index}];")
        changes += [(one.node.start_byte, one.node.end_byte, f"{tiles[key]}[{turn}]") for one in ones]
    uses = [one.start_byte for one in named(source, body, frozenset({variable}))]
    counts_itself = any(not any(start <= use < stop for start, stop, _ in changes) for use in uses)
    is_block = body.type == "compound_statement"
    span = (body.start_byte + 1, body.end_byte - 1) if is_block else (body.start_byte, body.end_byte)
    inner = [
        *([f"const int {variable} = {first} + {turn};"] if counts_itself else []),
        *region(source, span, changes),
    ]
    return [
        f"for (int {first} = 0; {first} < {end}; {first} += {found.block}) {{",
        *indented([f"const int {turns} = min({found.block}, {end} - {first});"], unit),
        *indented([f"if ((int)threadIdx.x < {turns}) {{", *indented(loads, unit), "}", "__syncthreads();"], unit),
        pragma,
        *indented([f"for (int {turn} = 0; {turn} < {turns}; ++{turn}) {{", *indented(inner, unit), "}"], unit),
        *indented(["__syncthreads();"], unit),
        "}",
    ]


def _lines(sight: CudaSight, node: Node, names: dict[str, str]) -> list[str]:
    """The lines of a statement with other names in it."""
    places = named(sight.file.source, node, names)
    changes = [(one.start_byte, one.end_byte, names[sight.content(one)]) for one in places]
    return region(sight.file.source, (node.start_byte, node.end_byte), changes)
