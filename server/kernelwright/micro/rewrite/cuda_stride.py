"""Kernels that take one element a thread as loops in which the threads of a smaller grid stride over all elements."""

from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_grid import Division, Geometry, geometry
from kernelwright.micro.rewrite.cuda_independent import tied, works_together
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_region import changed, indented, region, regrid, unit_of, unused
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_threads import Axis, Elementwise, covered, declared_alone, elementwise
from kernelwright.source.cuda.text import field, of_type
from kernelwright.values import Refusal

_THREADS = 2048  # on a multiprocessor at once
_FEW = 132  # multiprocessors, where the device is not known
_LONG = ("long long", "size_t", "int64_t", "uint64_t", "long", "unsigned long", "unsigned long long")


@dataclass(frozen=True, eq=False)
class Stridable:
    """A kernel under a guard with its one launch. `declared`: the index as it is declared, to become the loop's."""

    found: Elementwise
    launch: Geometry
    division: Division
    axis: Axis

    @property
    def resident(self) -> int:
        """How many of its blocks a multiprocessor holds, where registers and shared memory allow for it."""
        return max(1, _THREADS // self.launch.block[0])


def stridable(sight: CudaSight) -> Stridable | Refusal:
    """What a loop may be made of, or why not."""
    launch = sight.launch
    if isinstance(launch, Refusal):
        return launch
    shape = geometry(sight.file, launch, sight.numbers_given(launch.function))
    if shape is None:
        return Refusal("The threads of a block are no number that this file says.", launch.node.start_point.row)
    found = elementwise(sight.names, shape.block)
    if isinstance(found, Refusal):
        return found
    if found.axis is None:
        return Refusal("The threads stride over the elements already.", sight.kernel.name_node.start_point.row)
    division = covered(sight.names, shape, found.axis)
    if isinstance(division, Refusal):
        return division
    why = works_together(sight.file, sight.kernel) or tied(sight.names, found) or declared_alone(sight.file, found.axis)
    if why is not None:
        return why
    if _statement(division.node) is None:
        return Refusal("There is no place for a statement in front of the launch.", launch.node.start_point.row)
    return Stridable(found, shape, division, found.axis)


@dataclass(frozen=True, eq=False)
class FixedGrid:
    """A launch of so many `blocks`, as a number, of a kernel whose threads stride over the elements below `bound`."""

    launch: Geometry
    blocks: int
    bound: Node

    @property
    def resident(self) -> int:
        """How many of the blocks a multiprocessor holds, where registers and shared memory allow for it."""
        return max(1, _THREADS // self.launch.block[0])


def fixed_grid(sight: CudaSight) -> FixedGrid | Refusal:
    """A loop that strides over a grid of a fixed number of blocks, or why another number would change something."""
    launch = sight.launch
    if isinstance(launch, Refusal):
        return launch
    shape, line = geometry(sight.file, launch, sight.numbers_given(launch.function)), launch.node.start_point.row
    if shape is None:
        return Refusal("The threads of a block are no number that this file says.", line)
    found = elementwise(sight.names, shape.block)
    if isinstance(found, Refusal):
        return found
    if found.loop is None:
        return Refusal("The threads do not stride over the elements.", sight.kernel.name_node.start_point.row)
    why = works_together(sight.file, sight.kernel) or tied(sight.names, found)
    if why is not None:
        return why
    blocks = shape.names.number(launch.grid)
    if launch.grid is None or blocks is None or blocks < 1:
        return Refusal("The number of blocks is no number that this file says.", line)
    return FixedGrid(shape, blocks, found.bound)


def refilled(sight: CudaSight, found: FixedGrid, rounds: int) -> Patch | None:
    """The text with so many blocks for each of the device's multiprocessors; None where that is what there is."""
    blocks = (sight.device.multiprocessors or _FEW) * found.resident * rounds
    grid = found.launch.launch.grid
    assert grid is not None
    return sight.patch().replace(grid, str(blocks)) if blocks != found.blocks else None


def strided(sight: CudaSight, found: Stridable, rounds: int) -> Patch | Refusal:
    """The text with a loop, and a grid of at most `rounds` times the blocks that the device holds."""
    patch, source, kernel = sight.patch(), sight.file.source, sight.kernel
    shape, axis = found.found, found.axis
    unit, outer = unit_of(source, kernel), indent_of(source, axis.declaration)
    value = next(field(one, "value") for one in of_type(axis.declaration, "init_declarator"))
    assert value is not None
    plain = axis.type in _LONG or _only_subscripts(sight, shape)
    counter = axis.index if plain else unused(sight.file, kernel, "at", "element", "e")
    type_ = axis.type if axis.type in _LONG else "long long"
    head = (
        f"for ({type_} {counter} = {sight.content(value)}; {counter} < {sight.content(axis.bound)}; "
        f"{counter} += blockDim.x * gridDim.x) {{"
    )
    inner = region(source, shape.inner)
    if not plain:
        kind = "unsigned int" if axis.type == "auto" else axis.type
        inner = [f"const {kind} {axis.index} = {counter};", *inner]
    closing = "\n" + indent_of(source, kernel.node) if shape.whole[1] == kernel.body.end_byte - 1 else ""
    patch.between(*shape.whole, "\n".join([head, *indented(inner, outer + unit), outer + "}"]) + closing)
    _drop(sight, axis.declaration, patch)
    return _capped(sight, found, rounds, patch) or patch


def _capped(sight: CudaSight, found: Stridable, rounds: int, patch: Patch) -> Refusal | None:
    """Give the grid no more blocks than so many for each multiprocessor."""
    statement = _statement(found.division.node)
    assert statement is not None
    name = unused(sight.file, found.launch.launch.function, "max_blocks", "most_blocks")
    cores = sight.device.multiprocessors or _FEW
    indent = indent_of(sight.file.source, statement)
    blocks = found.resident * rounds
    note = f"// {blocks} for each multiprocessor"
    patch.before(statement, f"const int {name} = {cores} * {blocks};  {note}\n{indent}")
    node = found.division.node
    text = changed(sight.file.source, (node.start_byte, node.end_byte), ())
    if not _is_int(sight, found, node):
        text = f"static_cast<int>({text})"
    edits = [(node.start_byte, node.end_byte, f"min({text}, {name})")]
    return regrid(patch, sight.file, found.launch, node, edits)


def _is_int(sight: CudaSight, found: Stridable, node: Node) -> bool:
    """Whether an expression of the launching function is an `int`: all of its names are."""
    function, content = found.launch.launch.function, sight.content
    ints = {one.name for one in function.parameters if one.base == "int" and not one.is_pointer}
    for declaration in of_type(function.body, "declaration"):
        kind = field(declaration, "type")
        if kind is not None and content(kind) == "int":
            ints |= {content(name) for one in declaration.named_children if (name := field(one, "declarator"))}
    ints |= {name for name in sight.file.constants if sight.file.number(name) is not None}
    if any(
        one.type in ("call_expression", "field_expression")
        for one in of_type(node, "call_expression", "field_expression")
    ):
        return False
    suffixed = any(not content(one).isdigit() for one in of_type(node, "number_literal"))
    return not suffixed and all(content(one) in ints for one in of_type(node, "identifier"))


def _statement(node: Node) -> Node | None:
    """The statement of a block that a node stands in."""
    statement: Node | None = node
    while statement is not None and (statement.parent is None or statement.parent.type != "compound_statement"):
        statement = statement.parent
    return statement


def _only_subscripts(sight: CudaSight, found: Elementwise) -> bool:
    """Whether the index is used for nothing but to say which element: a wider type changes nothing then."""
    used = (one for some in found.body for one in of_type(some, "identifier") if sight.content(one) == found.index)
    return all(one.parent is not None and one.parent.type == "subscript_argument_list" for one in used)


def _drop(sight: CudaSight, declaration: Node, patch: Patch) -> None:
    """Take the line of a declaration out, whole where nothing else is on it."""
    source = sight.file.source.source
    start, end = declaration.start_byte, declaration.end_byte
    line_start, line_end = source.rfind(b"\n", 0, start) + 1, source.find(b"\n", end)
    if not source[line_start:start].strip() and not source[end:line_end].strip():
        start, end = line_start, line_end + 1
    patch.between(start, end, "")
