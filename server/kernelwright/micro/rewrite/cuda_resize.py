"""Other block sizes for a launch: where the numbers are written, what follows them, and what stands in the way."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_grid import AXES, Geometry, bare, geometry
from kernelwright.micro.rewrite.cuda_independent import declared_in, kept_name, works_together
from kernelwright.micro.rewrite.cuda_patch import Patch
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_threads import covered, guarded, is_index, is_stride, limit_of, step_of, strides
from kernelwright.source.cuda import File, Function, Launch
from kernelwright.source.cuda.definitions import read_apart
from kernelwright.source.cuda.expressions import BUILT_IN, Loop, Names
from kernelwright.source.cuda.text import field, is_inside, of_type, walk
from kernelwright.source.polynomials import name
from kernelwright.values import Refusal

Block = tuple[int, int, int]
_BUSY = ("subscript_expression", "pointer_expression", "gnu_asm_expression")
_MOST_THREADS, _MOST_VARIANTS = 1024, 8
_WIDTHS = (256, 128, 512, 1024, 64)
_SHAPES = (
    (32, 8),
    (32, 4),
    (64, 4),
    (64, 8),
    (32, 16),
    (128, 4),
    (16, 16),
    (64, 16),
    (32, 32),
    (16, 32),
    (128, 8),
    (8, 8),
)


@dataclass(frozen=True, eq=False)
class Resizable:
    """Launches whose blocks change together, the first of them first, with the axes that may change."""

    launches: tuple[Geometry, ...]
    axes: tuple[str, ...]

    @property
    def block(self) -> Block:
        return self.launches[0].block


def resizable(sight: CudaSight) -> Resizable | Refusal:
    """What changes when the block of the launches does, all of which read the same numbers, or why it has to stay."""
    if sight.is_entry or not sight.launches:
        assert isinstance(sight.launch, Refusal)
        return sight.launch
    launch = sight.launches[0]
    found = geometry(sight.file, launch)
    if found is None:
        return Refusal("The threads of a block are no number that this file says.", launch.node.start_point.row)
    together = tuple(_together(sight.file, found))
    axes = list[str]()
    for one in together:
        free = _free(sight.file, one, together)
        if isinstance(free, Refusal):
            return free
        axes += [axis for axis in free if axis not in axes]
    tied = _tied(sight.file, together)
    if tied is not None:
        return tied
    return Resizable(together, tuple(axis for axis in AXES if axis in axes))


def resized(sight: CudaSight, found: Resizable, block: Block) -> Patch | None:
    """The text with another block; None where one of its numbers stands for two sizes, or the grid does not follow."""
    changes = dict[tuple[int, int], str]()
    for one in found.launches:
        for place, size in enumerate(block):
            node = one.numbers[place]
            if node is None:
                if size != one.block[place]:
                    return None
                continue
            if changes.setdefault(_digits(sight, node), str(size)) != str(size):
                return None
            for literal, value in _copies(sight, one, place, size):
                if changes.setdefault(_digits(sight, literal), value) != value:
                    return None
        kernel = sight.file.kernel(one.launch.kernel)
        assert kernel is not None
        for node, value in (*_bounds(sight, kernel, block), *_repeated(sight, one, kernel, block)):
            changes[_digits(sight, node)] = value
    patch = sight.patch()
    for (start, end), text in changes.items():
        patch.between(start, end, text)
    return patch if _still_right(sight.file, read_apart(patch.text), found, block) else None


def _together(file: File, found: Geometry) -> Iterator[Geometry]:
    """The launches whose block is written in the same numbers."""
    yield found
    places = {one.start_byte for one in found.numbers if one is not None}
    for launch in file.launches:
        other = geometry(file, launch) if launch is not found.launch else None
        if other is not None and places & {one.start_byte for one in other.numbers if one is not None}:
            yield other


def _free(file: File, found: Geometry, together: tuple[Geometry, ...]) -> tuple[str, ...] | Refusal:
    """The axes of a launch along which its kernel computes the same with any number of threads."""
    launch, line = found.launch, found.launch.node.start_point.row
    kernel = file.kernel(launch.kernel)
    if kernel is None:
        return Refusal(f"The kernel {launch.kernel} is not in this file.", line)
    changed = {one.launch.node.start_byte for one in together}
    if any(one.node.start_byte not in changed for one in file.launches_of(kernel.name)):
        return Refusal(f"{kernel.name} is launched in several places, which would have to change together.", line)
    if launch.shared is not None and file.source.content(launch.shared) != "0":
        return Refusal("The launch sizes shared memory, which may depend on the block.", line)
    names = Names(file, kernel)
    why = works_together(file, kernel) or _unknown_bounds(file, kernel)
    if why is not None:
        return why
    moving = tuple(axis for axis, node in zip(AXES, found.numbers, strict=True) if node is not None)
    loops = {axis: _strided(names, axis, found.block) for axis in moving}
    strayed = _strayed(names, found, [axis for axis in AXES if axis in moving])
    if strayed is not None:
        return strayed
    each = [axis for axis in moving if not loops[axis]]
    if not each or each == [axis for axis in each if found.block[AXES.index(axis)] == 1 and not _uses(names, axis)]:
        return _closed(names, [one for some in loops.values() for one in some], moving)
    if len(each) < len(moving):
        return Refusal("The kernel strides along one axis of its block and not along the other.", line)
    threads = guarded(names, found.block)
    if isinstance(threads, Refusal):
        return threads
    for axis in each:
        bounded = threads.axis(axis)
        if bounded is None and found.block[AXES.index(axis)] > 1:
            return Refusal(f"The kernel's guard does not bound its index along {axis}.", line)
        division = covered(names, found, bounded) if bounded is not None else None
        if isinstance(division, Refusal):
            return division
    return tuple(axis for axis in each if threads.axis(axis) is not None)


def _strayed(names: Names, found: Geometry, axes: list[str]) -> Refusal | None:
    """Where the kernel asks for an index or a size in another way than for that of its element."""
    for node in of_type(names.function.body, "field_expression"):
        written = names.file.source.content(node)
        base, _, axis = written.partition(".")
        if base not in BUILT_IN or axis not in axes:
            continue
        if found.block[AXES.index(axis)] == 1 and base in ("blockIdx", "gridDim"):
            continue
        if not _is_counted(names, node, axis, found.block):
            return Refusal(
                f"The kernel uses {written} for something else than the index of its element.", node.start_point.row
            )
    return None


def _is_counted(names: Names, node: Node, axis: str, block: Block, depth: int = 0) -> bool:
    """Whether a name stands inside an index or a stride, or in a local all of whose uses do."""
    content = names.file.source.content
    if content(node) == f"blockIdx.{axis}" and _strided(names, axis, block):
        loops = _strided(names, axis, block)
        if all(names.polynomial(one.start) == name(f"threadIdx.{axis}") for one in loops):
            return True
    expression = node
    while expression.parent is not None and expression.parent.type in _EXPRESSIONS:
        if _is_own(names, expression, axis, block):
            return True
        expression = expression.parent
    if _is_own(names, expression, axis, block):
        return True
    declared = expression.parent
    target = field(declared, "declarator")
    if declared is None or declared.type != "init_declarator" or target is None or depth > 4:
        return False
    local = content(target)
    if local not in names.values or bare(names.values[local]) != bare(node):
        return False
    used = [one for one in of_type(names.function.body, "identifier") if content(one) == local and one != target]
    return all(_is_counted(names, one, axis, block, depth + 1) for one in used)


def _is_own(names: Names, node: Node, axis: str, block: Block) -> bool:
    if is_index(names, node, axis, block) or is_stride(names, node, axis, block):
        return True
    return any(node in (one.start, step_of(names, one)) for one in _strided(names, axis, block))


_EXPRESSIONS = ("binary_expression", "parenthesized_expression", "cast_expression")


def _strided(names: Names, axis: str, block: Block) -> tuple[Loop, ...]:
    """The loops in which the threads of the grid, or of a block, take every so-manieth element."""
    return tuple(one for one in names.loops if _strides(names, one, axis, block))


def _strides(names: Names, loop: Loop, axis: str, block: Block) -> bool:
    if strides(names, loop, axis, block):
        return True
    step, size = step_of(names, loop), block[AXES.index(axis)]
    if step is None or limit_of(names, loop) is None:
        return False
    width = names.polynomial(step).at({f"blockDim.{axis}": size}).number
    return names.polynomial(loop.start) == name(f"threadIdx.{axis}") and width == size


def _closed(names: Names, loops: list[Loop], moving: tuple[str, ...]) -> tuple[str, ...] | Refusal:
    """The axes, where all that such a kernel does is done in its loops, turn by turn."""
    if not loops:
        return Refusal("The kernel does not use the index of its thread.", names.function.name_node.start_point.row)
    for node in walk(names.function.body):
        inside = next((one for one in loops if is_inside(node, one.body)), None)
        target = None
        if node.type == "assignment_expression":
            target = field(node, "left")
        elif node.type == "update_expression":
            target = field(node, "argument")
        elif node.type == "call_expression" and inside is None:
            return Refusal("The kernel calls something outside its loop.", node.start_point.row)
        if any(one.update is not None and is_inside(node, one.update) for one in loops):
            continue
        if inside is None and target is not None and target.type in _BUSY:
            return Refusal("The kernel writes outside its loop.", node.start_point.row)
        kept = kept_name(names, node) if inside is not None else ""
        if inside is not None and kept and kept not in declared_in(names, (inside.body,)):
            return Refusal(f"{kept} is carried from turn to turn of the loop.", node.start_point.row)
    return tuple(axis for axis in moving if _uses(names, axis))


def _uses(names: Names, axis: str) -> bool:
    return any(
        names.file.source.content(node) == f"threadIdx.{axis}"
        for node in of_type(names.function.body, "field_expression")
    )


def _tied(file: File, together: tuple[Geometry, ...]) -> Refusal | None:
    """Where a name on the way to the block is used for something else than these launches."""
    allowed = [one.launch.configuration for one in together]
    allowed += [value.parent or value for one in together for value in one.definitions.values()]
    for one in together:
        kernel = file.kernel(one.launch.kernel)
        assert kernel is not None
        names = Names(file, kernel)
        allowed += of_type(kernel.node, "launch_bounds")
        allowed += [
            node
            for node in of_type(kernel.body, *_EXPRESSIONS)
            if any(_is_own(names, node, axis, one.block) for axis in AXES)
        ]
    for one in together:
        for named in one.definitions:
            local = named in one.names.values or named not in file.constants
            scope = one.launch.function.body if local else file.source.tree.root_node
            for node in of_type(scope, "identifier"):
                if file.source.content(node) == named and not any(is_inside(node, some) for some in allowed):
                    return Refusal(f"{named} is used for something else than the launch here.", node.start_point.row)
    return None


def _unknown_bounds(file: File, kernel: Function) -> Refusal | None:
    if all(file.number(one) is not None for one in kernel.bounds):
        return None
    return Refusal("The numbers of __launch_bounds__ are not known.", kernel.name_node.start_point.row)


def _bounds(sight: CudaSight, kernel: Function, block: Block) -> Iterator[tuple[Node, str]]:
    """The literals of `__launch_bounds__` with what they become: as many threads on a multiprocessor as before."""
    bounds = next(of_type(kernel.node, "launch_bounds"), None)
    if bounds is None or not kernel.bounds:
        return
    threads, before = block[0] * block[1] * block[2], sight.file.number(kernel.bounds[0])
    literals = [one for one in bounds.named_children if one.type != "comment"]
    if before is not None and literals[0].type == "number_literal":
        yield literals[0], str(threads)
    if len(literals) > 1 and literals[1].type == "number_literal" and before is not None:
        blocks = sight.file.number(kernel.bounds[1]) or 1
        yield literals[1], str(max(1, blocks * before // threads))


def _copies(sight: CudaSight, found: Geometry, place: int, size: int) -> Iterator[tuple[Node, str]]:
    """The literals of a grid that repeat the block's, as in `(n + 255) / 256`."""
    grid, before = found.grid[place], found.block[place]
    if grid is None or found.division(AXES[place]) is None:
        return
    for node in of_type(grid, "number_literal"):
        value = sight.file.number(sight.content(node))
        if value in (before, before - 1) and value is not None and before > 1:
            yield node, str(size - (before - value))


def _repeated(sight: CudaSight, found: Geometry, kernel: Function, block: Block) -> Iterator[tuple[Node, str]]:
    """The literals of a kernel that repeat the block's in an index, `blockIdx.x * 256 + threadIdx.x`, or a step."""
    names = Names(sight.file, kernel)
    for axis, before, size in zip(AXES, found.block, block, strict=True):
        for node in of_type(kernel.body, "binary_expression"):
            if size != before and is_index(names, node, axis, found.block):
                for literal in of_type(node, "number_literal"):
                    if sight.file.number(sight.content(literal)) == before:
                        yield literal, str(size)
        for loop in _strided(names, axis, found.block):
            step = step_of(names, loop)
            if step is not None and step.type == "number_literal" and size != before:
                yield step, str(size)


def _digits(sight: CudaSight, node: Node) -> tuple[int, int]:
    """Where the digits of a number are."""
    match = re.search(r"\d+", sight.content(node))
    assert match is not None
    return node.start_byte + match.start(), node.start_byte + match.end()


def _still_right(before: File, after: File, found: Resizable, block: Block) -> bool:
    """Whether each launch has the block now, and its grid covers what it did."""
    if len(before.launches) != len(after.launches):
        return False
    for one in found.launches:
        launch = _same(before, after, one.launch)
        now = geometry(after, launch)
        kernel = after.kernel(launch.kernel)
        if now is None or now.block != block or kernel is None:
            return False
        threads = block[0] * block[1] * block[2]
        if kernel.bounds and (after.number(kernel.bounds[0]) or 0) < threads:
            return False
        for axis in AXES:
            was, became = one.division(axis), now.division(axis)
            if (was.elements if was else None) != (became.elements if became else None):
                return False
        if isinstance(_free(after, now, tuple(_together(after, now))), Refusal):
            return False
    return True


def _same(before: File, after: File, launch: Launch) -> Launch:
    pairs = zip(before.launches, after.launches, strict=True)
    return next(new for old, new in pairs if old.node.start_byte == launch.node.start_byte)


def sizes(found: Resizable) -> Iterator[Block]:
    """Blocks worth measuring, best guess first, apart from the one that there is.

    None is lower than that: a grid has at most 65,535 blocks along y and z, which have to suffice for the same sizes.
    """
    x, y, z = found.block
    if "y" in found.axes and "x" in found.axes:
        every: Iterator[Block] = ((one, two, z) for one, two in _SHAPES)
    elif "y" in found.axes:
        every = ((x, one, z) for one in (8, 4, 16, 2))
    else:
        every = ((one, y, z) for one in _WIDTHS)
    fitting = (one for one in every if one[1] >= y and one[0] * one[1] * z <= _MOST_THREADS)
    return itertools.islice((one for one in fitting if one != found.block), _MOST_VARIANTS)
