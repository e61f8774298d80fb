"""Several rows of results a thread, where one thread computes one point of a grid: what rows have in common is read once."""

import re
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, named
from kernelwright.micro.rewrite.cuda_guarded import Y, declared, type_of
from kernelwright.micro.rewrite.cuda_independent import declared_in, jumping_macro, kept_name, works_together
from kernelwright.micro.rewrite.cuda_matmul import counts
from kernelwright.micro.rewrite.cuda_patch import Patch
from kernelwright.micro.rewrite.cuda_pointers import mentions
from kernelwright.micro.rewrite.cuda_region import Change, indented, region, unit_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.flow import Flow
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.source.polynomials import Polynomial
from kernelwright.values import Refusal

_ALONG_Y = frozenset(f"{name}.y" for name in ("threadIdx", "blockIdx", "blockDim", "gridDim"))
_WHOLE = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_ROUNDED = re.compile(r"\((.+) \+ (\d+)\) / (\d+)$")
_SUMS = ("+", "-", "*", "/", "%")
_LEAVES = ("goto_statement", "labeled_statement", "lambda_expression", "preproc_if", "preproc_ifdef")
_AREAS = ("for_statement", "while_statement", "do_statement", "for_range_loop", "switch_statement")


@dataclass(frozen=True, eq=False)
class Row:
    """The local that counts the rows of the grid, where it is declared, with its name and its value as nodes.

    `first` is the name for the first of a thread's `count` rows.
    """

    name: str
    first: str
    count: int
    declaration: Node
    target: Node
    value: Node

    @property
    def last(self) -> str:
        return f"{self.first} + {self.count - 1}"

    @property
    def loop(self) -> str:
        return f"for (int {self.name} = {self.first}; {self.name} < {self.first} + {self.count}; ++{self.name}) {{"


def row_of(sight: CudaSight, count: int) -> Row | Refusal:
    """The rows of a kernel whose threads have nothing to do with each other, and one point of the grid each."""
    kernel, source = sight.kernel, sight.file.source
    refused = works_together(sight.file, kernel)
    found = [one for one in sight.names.values if sight.apart and all(counts(each, one, "y") for each in sight.apart)]
    hidden = jumping_macro(sight.file, kernel)
    elsewhere = mentions(sight.file, kernel)
    if refused is not None:
        return refused
    if hidden is not None or elsewhere:
        line = hidden.start_point.row if hidden is not None else elsewhere[0].start_point.row
        return Refusal("A macro may leave the kernel, or the kernel is passed on in another place.", line)
    if sight.is_entry or len(found) != 1 or type_of(sight, found[0]) != "int":
        return Refusal("No local counts the threads of the grid along y, as an int.", kernel.name_node.start_point.row)
    name, value = found[0], sight.names.values[found[0]]
    declaration = next((one for one in kernel.body.named_children if name in declared(sight, one)), None)
    target = field(value.parent, "declarator")
    if declaration is None or target is None:
        return Refusal(f"`{name}` is not declared at the beginning of the kernel.", value.start_point.row)
    stray = [one for one in named(source, kernel.body, _ALONG_Y) if not is_inside(one, value)]
    stray += [one for one in named(source, kernel.body, frozenset(_WHOLE)) if field(one.parent, "argument") != one]
    stray += of_type(kernel.body, *_LEAVES)
    if stray:
        return Refusal("The thread's place along y is used for more than its row.", stray[0].start_point.row)
    return Row(name, fresh(sight.file, f"{name}0", f"first_{name}"), count, declaration, target, value)


def regridded(sight: CudaSight, patch: Patch, count: int) -> Refusal | None:
    """Divide the grids of all launches by so many rows a thread along y, rounded up."""
    content, seen = sight.content, set[int]()
    for one in sight.apart:
        launch = one.launches[0]
        sizes = one.sizes(launch.grid) if launch.grid is not None else ()
        line = launch.node.start_point.row
        if launch.grid is None or len(sizes) < 2:
            return Refusal("The launch does not say how many blocks there are along y.", line)
        uses = list(named(sight.file.source, launch.function.body, frozenset({content(launch.grid)})))
        homes = [each.configuration for each in sight.launches]
        strays = [use for use in uses if not any(is_inside(use, home) for home in homes)]
        if launch.grid.type == "identifier" and len(strays) != 1:
            return Refusal("The grid is used for more than launches of this kernel.", line)
        if sizes[1].start_byte not in seen:
            seen.add(sizes[1].start_byte)
            patch.replace(sizes[1], _divided(sight, sizes[1], count))
    return None


def wrapped(sight: CudaSight, row: Row, patch: Patch) -> Refusal | None:
    """Put what follows the row's declaration into a loop over a thread's rows."""
    statements = [one for one in sight.kernel.body.named_children if one.start_byte >= row.declaration.end_byte]
    refused = outside(sight, statements)
    if refused is not None:
        return refused
    first_row(row, patch)
    unit = unit_of(sight.file.source, sight.kernel)
    span = (row.declaration.end_byte, sight.kernel.body.end_byte - 1)
    lines = region(sight.file.source, span, continued(sight, statements))
    head = ["#pragma unroll", *indented([row.loop], unit), *indented(lines, unit * 2), *indented(["}"], unit)]
    patch.between(*span, "\n" + "\n".join(head) + "\n")
    return None


def first_row(row: Row, patch: Patch) -> None:
    """Declare the first of the thread's rows in the place of its only one."""
    patch.replace(row.target, row.first)
    patch.before(row.value, "(").after(row.value, f") * {row.count}")


def continued(sight: CudaSight, statements: list[Node]) -> list[Change]:
    """`return` as what goes on with the next row."""
    leaves = (one for statement in statements for one in of_type(statement, "return_statement"))
    return [(one.start_byte, one.end_byte, "continue;") for one in leaves]


def outside(sight: CudaSight, statements: list[Node]) -> Refusal | None:
    """What keeps statements from being run once for each row: a return from a loop, or what one row leaves for the next."""
    inner = declared_in(sight.names, tuple(statements))
    for statement in statements:
        for node in of_type(statement, "assignment_expression", "update_expression", "pointer_expression"):
            name = kept_name(sight.names, node)
            if name and name not in inner:
                return Refusal(f"`{name}` is changed behind the row, and declared ahead of it.", node.start_point.row)
        for area in of_type(statement, *_AREAS):
            leaves = next(of_type(area, "return_statement"), None)
            if leaves is not None:
                return Refusal("A thread may leave the kernel from within a loop.", leaves.start_point.row)
    return None


def reads_neighbours(sight: CudaSight) -> bool:
    """Whether a tensor is read at places that lie whole rows apart, which the rows of one thread share."""
    flow, places = Flow(sight.file, sight.kernel), dict[str, list[Polynomial]]()
    for one in sight.accesses:
        if one.space == "global" and not one.writes and len(one.indices) == 1:
            places.setdefault(one.base, []).append(flow.polynomial(one.indices[0]))
    return any(
        (apart := two - first).number is None and not any("." in name or "?" in name for name in apart.names)
        for found in places.values()
        for first in found
        for two in found
        if Y in first.names
    )


def _divided(sight: CudaSight, node: Node, count: int) -> str:
    """`(n + 15) / 16` blocks of so many times as many rows."""
    size, sign = sight.content(node), field(node, "operator")
    match = _ROUNDED.match(size)
    if match is not None and int(match[2]) == int(match[3]) - 1 and _is_whole(match[1]):
        return f"({match[1]} + {int(match[3]) * count - 1}) / {int(match[3]) * count}"
    is_sum = node.type == "binary_expression" and sign is not None and sight.content(sign) in _SUMS
    whole = size if is_sum or size.isidentifier() or size.isdigit() else f"({size})"
    return f"({whole} + {count - 1}) / {count}"


def _is_whole(code: str) -> bool:
    """Whether parentheses are closed in the order in which they are opened."""
    depth = 0
    for letter in code:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            return False
    return depth == 0
