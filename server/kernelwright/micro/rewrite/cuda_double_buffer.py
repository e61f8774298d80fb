"""A loop over tiles in shared memory with a second buffer: the next tile is on its way while this one is used."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, hiding_macro, named, plain, substituted
from kernelwright.micro.rewrite.cuda_guarded import declared, hidden_access, statements_of, type_of
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.accesses import Access
from kernelwright.source.cuda.expressions import Loop
from kernelwright.source.cuda.text import field, is_inside, of_type, walk
from kernelwright.values import Refusal

_BARRIER = "__syncthreads();"
_STATIC_BYTES = 48 * 1024
_BYTES = {"float": 4, "int": 4, "unsigned": 4, "unsigned int": 4, "double": 8}
_NOTHING = re.compile(r"(?<=[\[(])0 \+ |(?<=\+ )0 \+ |(?<=&& )0 \+ |(?<=\? )0 \+ ")  # what adds nothing to a sum
_ASYNCHRONOUS = 80  # the compute capability from which on copies need no registers


@dataclass(frozen=True, eq=False)
class _Load:
    """`tile[…][…] = inside ? element : zero;` as its nodes."""

    statement: Node
    array: str
    target: Node
    value: Node


@dataclass(frozen=True, eq=False)
class Tiles:
    loop: Loop
    step: str
    loads: tuple[_Load, ...]
    first: Node  # the barrier behind the loads
    last: Node  # the barrier at the end of the turn


def double_buffered(sight: CudaSight) -> tuple[Tiles, tuple[tuple[str, Patch], ...]] | Refusal:
    """The kernel with the next tile in registers meanwhile, and with asynchronous copies where the GPU has them."""
    found = next((tiles for loop in sight.names.loops if (tiles := _tiles(sight, loop)) is not None), None)
    if found is None:
        return Refusal("No loop loads tiles into shared memory, waits, uses them, and waits again.")
    wrong = _other_use(sight, found)
    if wrong is not None:
        return wrong
    variants = [("the next tile in registers", _written(sight, found, asynchronous=False))]
    if (sight.device.compute_capability or 0) >= _ASYNCHRONOUS and all(_is_copy(sight, one) for one in found.loads):
        variants.append(("asynchronous copies", _written(sight, found, asynchronous=True)))
    return found, tuple(variants)


def _tiles(sight: CudaSight, loop: Loop) -> Tiles | None:
    source = sight.file.source
    statements = [one for one in statements_of(loop.body) if one.type != "preproc_call"]
    barriers = [one for one in statements if plain(source, one) == _BARRIER]
    loads = [load for one in statements if (load := _load(sight, one)) is not None]
    step = _step(sight, loop)
    if len(barriers) != 2 or not loads or step is None or loop.condition is None:
        return None
    ahead = [one.statement for one in loads]
    if statements[: len(ahead) + 1] != [*ahead, barriers[0]] or statements[-1] != barriers[1]:
        return None
    return Tiles(loop, step, tuple(loads), barriers[0], barriers[1])


def _load(sight: CudaSight, statement: Node) -> _Load | None:
    assigned = next(iter(statement.named_children), None) if statement.type == "expression_statement" else None
    left, right, sign = (field(assigned, part) for part in ("left", "right", "operator"))
    if left is None or right is None or sign is None or sight.content(sign) != "=":
        return None
    access = next((one for one in sight.accesses if one.node == left), None)
    return _Load(statement, access.base, left, right) if access is not None and access.space == "shared" else None


def _step(sight: CudaSight, loop: Loop) -> str | None:
    """What the loop's variable is in the next turn."""
    if loop.update is None:
        return None
    update, v = plain(sight.file.source, loop.update), loop.variable
    if update in (f"++{v}", f"{v}++"):
        return f"{v} + 1"
    by = field(loop.update, "right")
    return f"{v} + {sight.content(by)}" if by is not None and update.startswith(f"{v}+=") else None


def _other_use(sight: CudaSight, found: Tiles) -> Refusal | None:
    """Why the loads cannot be made ahead of the turn that they are for."""
    arrays, body = {one.array for one in found.loads}, found.loop.body
    line = found.loop.node.start_point.row
    hidden = hiding_macro(sight.names, body)
    if hidden is not None:
        return Refusal(
            f"`{sight.content(hidden)}` speaks of names that its place does not show.", hidden.start_point.row
        )
    for array in arrays:
        uses = [one for one in sight.accesses if one.base == array]
        words = list(named(sight.file.source, sight.kernel.body, frozenset({array})))
        outside = next((one.node for one in uses if not is_inside(one.node, body)), None)
        partial = next((one.node for one in uses if len(one.indices) != len(sight.names.shared[array])), None)
        if outside is not None or partial is not None or len(words) != len(uses) + 1:
            return Refusal(
                f"`{array}` is used for more than the tiles of this loop.",
                (outside or partial or words[-1]).start_point.row,
            )
        if _bytes_of(sight, array) is None:
            return Refusal(f"The size of `{array}` is no number.", line)
    if sum(_bytes_of(sight, one) or 0 for one in sight.names.shared) * 2 > _STATIC_BYTES:
        return Refusal("Two buffers do not fit shared memory.", line)
    changed = _changed(sight, body) - {found.loop.variable}
    for load in found.loads:
        loose = next(named(sight.file.source, load.statement, frozenset(changed)), None)
        if loose is not None:
            return Refusal(f"`{sight.content(loose)}` of a load is made in the turn itself.", loose.start_point.row)
    stores = [one for one in sight.accesses if is_inside(one.node, body) and one.writes and one.space != "local"]
    other = next((one for one in stores if one.node not in [load.target for load in found.loads]), None)
    if other is not None:
        return Refusal(
            f"`{sight.content(other.node)}` is stored in the loop, and the next tile may read it.",
            other.node.start_point.row,
        )
    hidden = hidden_access(sight, body)
    if hidden is not None:
        return Refusal(f"`{sight.content(hidden)}` may read and write memory.", hidden.start_point.row)
    calls = (one for one in of_type(body, "call_expression") if sight.content(one).startswith("atomic"))
    early = next(
        (one for one in walk(body) if one.type in ("break_statement", "continue_statement", "return_statement")),
        next(calls, None),
    )
    return (
        Refusal("A turn of the loop may end early or write to memory.", early.start_point.row)
        if early is not None
        else None
    )


def _changed(sight: CudaSight, body: Node) -> set[str]:
    """The names that a turn gives a value."""
    found = {name for one in of_type(body, "declaration") for name in declared(sight, one)}
    for one in walk(body):
        target = field(one, "left") if one.type == "assignment_expression" else None
        target = field(one, "argument") if one.type == "update_expression" else target
        if target is not None and target.type == "identifier":
            found.add(sight.content(target))
    return found


def _bytes_of(sight: CudaSight, array: str) -> int | None:
    total = _BYTES.get(type_of(sight, array), 16)
    for size in sight.names.shared[array]:
        number = sight.file.number(size) if size in sight.file.constants or size.isdigit() else _local(sight, size)
        if number is None:
            return None
        total *= number
    return total


def _local(sight: CudaSight, size: str) -> int | None:
    """A size with constants of the kernel in it."""
    for name, value in sight.names.values.items():
        number = sight.names.number(value)
        if number is not None:
            size = re.sub(rf"\b{re.escape(name)}\b", str(number), size)
    return sight.file.number(size)


def _is_copy(sight: CudaSight, load: _Load) -> bool:
    """Whether what is loaded is one element of memory under a condition, and zero without it."""
    element, other = field(load.value, "consequence"), field(load.value, "alternative")
    access = next((one for one in sight.accesses if one.node == element), None)
    if access is None or other is None or load.value.type != "conditional_expression":
        return False
    parameter, kind = sight.kernel.parameter(access.base), type_of(sight, load.array)
    is_zero = plain(sight.file.source, other).rstrip("fF") in ("0", "0.", "0.0")
    return is_zero and kind in _BYTES and parameter is not None and parameter.base == kind


def _written(sight: CudaSight, found: Tiles, *, asynchronous: bool) -> Patch:
    source, patch, v = sight.file.source, sight.patch(), found.loop.variable
    margin = indent_of(source, found.loop.node)
    inner = indent_of(source, found.first)
    step = "\t" if "\t" in inner else "    "
    at = fresh(sight.file, "at", "buffer")
    condition, start = found.loop.condition, sight.content(found.loop.start)
    assert condition is not None
    for array in dict.fromkeys(one.array for one in found.loads):
        place = next(named(source, _declaration(sight, array), frozenset({array})))
        patch.after(place, "[2]")
        for access in _uses(sight, found, array):
            patch.after(_base(access), f"[{at}]")
    more = substituted(source, condition, {v: found.step})
    first = [_NOTHING.sub("", _stored(sight, one, {v: start}, "0", asynchronous)) for one in found.loads]
    kept = {one.statement: fresh(sight.file, f"next_{one.array}") for one in found.loads}
    if asynchronous:
        fetched = [_stored(sight, one, {v: found.step}, f"{at} ^ 1", asynchronous) for one in found.loads]
        wait = ["__pipeline_commit();", "__pipeline_wait_prior(0);"]
        ahead = [f"if ({more}) {{", *(f"{step}{one}" for one in fetched), "}", wait[0]]
        behind = [wait[1], _BARRIER, f"{at} ^= 1;"]
    else:
        declarations = [f"{type_of(sight, one.array)} {kept[one.statement]};" for one in found.loads]
        fetched = [f"{kept[one.statement]} = {substituted(source, one.value, {v: found.step})};" for one in found.loads]
        stores = [f"{_at(sight, one, at)} = {kept[one.statement]};" for one in found.loads]
        wait = []
        ahead = [*declarations, f"if ({more}) {{", *(f"{step}{one}" for one in fetched), "}"]
        behind = [f"{at} ^= 1;", f"if ({more}) {{", *(f"{step}{one}" for one in stores), "}", _BARRIER]
    prologue = [
        f"if ({substituted(source, condition, {v: start})}) {{",
        *(f"{step}{one}" for one in first),
        "}",
        *wait,
        _BARRIER,
    ]
    patch.before(found.loop.node, "".join(f"{one}\n{margin}" for one in (*prologue, f"int {at} = 0;")))
    patch.between(found.loads[0].statement.start_byte, found.first.end_byte, f"\n{inner}".join(ahead))
    patch.replace(found.last, f"\n{inner}".join(behind))
    if asynchronous and "cuda_pipeline.h" not in source.text:
        patch.between(0, 0, "#include <cuda_pipeline.h>\n")
    return patch


def _declaration(sight: CudaSight, array: str) -> Node:
    return next(one for one in of_type(sight.kernel.body, "declaration") if array in declared(sight, one))


def _uses(sight: CudaSight, found: Tiles, array: str) -> Iterator[Access]:
    """The reads of a tile."""
    targets = [load.target for load in found.loads]
    return (one for one in sight.accesses if one.base == array and one.node not in targets)


def _base(access: Access) -> Node:
    node: Node | None = access.node
    while node is not None and node.type == "subscript_expression":
        node = field(node, "argument")
    assert node is not None
    return node


def _at(sight: CudaSight, load: _Load, buffer: str) -> str:
    """The place of a load in one of the buffers."""
    return f"{load.array}[{buffer}]{sight.content(load.target)[len(load.array) :]}"


def _stored(sight: CudaSight, load: _Load, meanings: dict[str, str], buffer: str, asynchronous: bool) -> str:
    source = sight.file.source
    if not asynchronous:
        return f"{_at(sight, load, buffer)} = {substituted(source, load.value, meanings)};"
    condition, element = field(load.value, "condition"), field(load.value, "consequence")
    assert condition is not None
    assert element is not None
    size = _BYTES[type_of(sight, load.array)]
    inside, address = substituted(source, condition, meanings), substituted(source, element, meanings)
    return f"__pipeline_memcpy_async(&{_at(sight, load, buffer)}, &{address}, {size}, ({inside}) ? 0 : {size});"
