"""Blocks that each do the work of several: statement by statement for all of them, so that their loads wait together."""

import re
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, hiding_macro, named, other_threads, plain
from kernelwright.micro.rewrite.cuda_guarded import declared, statements_of
from kernelwright.micro.rewrite.cuda_independent import jumping_macro
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_pointers import mentions
from kernelwright.micro.rewrite.cuda_region import Change, indented, region, unit_of
from kernelwright.micro.rewrite.cuda_scan import TYPES
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_vectorise import BYTES
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.values import Refusal

MOST = 8  # blocks that become one
_SHARED = 32 << 10  # bytes of shared memory that a block may have afterwards
_BARRIERS = ("__syncthreads();", "__syncwarp();")
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
_ODD = ("return_statement", "goto_statement", "labeled_statement", "lambda_expression", "preproc_if", "preproc_ifdef",
        "gnu_asm_expression", "switch_statement", "while_statement", "do_statement", "reference_declarator")  # fmt: skip
_WAITS = re.compile(
    r"\bvolatile\b|__threadfence\w*|cooperative_groups|this_thread_block|\bextern\b|\bauto\b|__nanosleep"
)
_NUMBERS = (*TYPES, *BYTES)
_BUSY = ("subscript_expression", "call_expression", "assignment_expression", "update_expression", "pointer_expression")
_ALONG = tuple(f"{name}.{axis}" for name in ("blockIdx", "gridDim") for axis in "yz")


@dataclass(frozen=True, eq=False)
class Coarsenable:
    """`statements` of the kernel, of whose locals those in `own` are each block's, as its arrays in shared memory are."""

    statements: tuple[Node, ...]
    own: frozenset[str]
    grid: Node


def coarsenable(sight: CudaSight) -> Coarsenable | Refusal:
    """What several blocks can do as one, or why they cannot."""
    launch, line, kernel = sight.launch, sight.kernel.name_node.start_point.row, sight.kernel
    if isinstance(launch, Refusal):
        return launch
    grid = launch.grid
    if grid is None or any(of_type(grid, *_BUSY)) or _is_dim3(sight, grid):
        return Refusal("The launch does not say in one number how many blocks there are.", launch.node.start_point.row)
    if sight.names_at_launch.number(grid) is not None:
        return Refusal("The launch has as many blocks for every size.", launch.node.start_point.row)
    elsewhere = mentions(sight.file, kernel)
    odd = next(of_type(kernel.body, *_ODD), None) or jumping_macro(sight.file, kernel)
    hiding = hiding_macro(sight.names, kernel.body) or other_threads(sight.file, kernel)
    waits = _WAITS.search(sight.content(kernel.body))
    if elsewhere or odd is not None or hiding is not None or waits is not None:
        what = elsewhere[0] if elsewhere else odd or hiding
        code = waits[0] if what is None and waits is not None else sight.content(what).split("\n")[0] if what else ""
        return Refusal(
            f"`{code}` keeps the work of a block from being followed.", what.start_point.row if what else line
        )
    stray = next(named(sight.file.source, kernel.body, frozenset(_ALONG)), None)
    if stray is not None:
        return Refusal("The blocks lie in more than one dimension.", stray.start_point.row)
    statements = statements_of(kernel.body)
    if not any(plain(sight.file.source, one) == _BARRIERS[0] for one in statements):
        return Refusal("The threads of a block do not wait for each other.", line)
    return _looked_at(sight, statements, grid)


def _is_dim3(sight: CudaSight, grid: Node) -> bool:
    assert not isinstance(sight.launch, Refusal)
    return any("dim3" in sight.content(one) and sight.content(grid) in declared(sight, one)
               for one in of_type(sight.launch.function.body, "declaration"))  # fmt: skip


def _looked_at(sight: CudaSight, statements: tuple[Node, ...], grid: Node) -> Coarsenable | Refusal:
    source, own, seen, memory = sight.file.source, set[str](), set[str](), 0
    for one in of_type(sight.kernel.body, "declaration"):
        line, kind = one.start_point.row, field(one, "type")
        again = declared(sight, one) & seen
        if again and (one in statements or again & own):
            return Refusal(f"`{min(again)}` is declared more than once.", line)
        seen |= declared(sight, one)
        if "__shared__" not in sight.content(one) and one not in statements:
            continue
        if one not in statements or kind is None or sight.content(kind) not in _NUMBERS:
            return Refusal(f"`{sight.content(one)}` declares no plain numbers for the whole block.", line)
        if "__shared__" in sight.content(one):
            for name in declared(sight, one):
                sizes = [sight.file.number(size) for size in sight.names.arrays.get(name, ())]
                if None in sizes:
                    return Refusal(f"`{name}` has no size that is a number in this file.", line)
                count = 1
                for size in sizes:
                    count *= size or 1
                memory += count * BYTES.get(sight.content(kind), 8)
            own |= declared(sight, one)
        elif next(of_type(one, "array_declarator", "pointer_declarator"), None) is not None:
            return Refusal("A thread keeps an array or a pointer of its own.", line)
        elif not _is_common(sight, one, own):
            own |= declared(sight, one)
    if memory * MOST > _SHARED:
        return Refusal(f"A block has {memory} bytes of shared memory, too many for {MOST} blocks in one.")
    for one in statements:
        inner = [each for each in of_type(one, "expression_statement") if plain(source, each) == _BARRIERS[0]]
        if inner and inner != [one]:
            return Refusal("Threads wait for each other within a loop or a condition.", one.start_point.row)
    loads = [one for one in sight.accesses if one.space == "global" and one.reads]
    loops = [one for statement in statements for one in of_type(statement, *_LOOPS)]
    if not loads or any(is_inside(one.node, loop) for one in loads for loop in loops):
        return Refusal("The threads load no elements from global memory, or many of them in a loop.")
    return Coarsenable(statements, frozenset(own), grid)


def _is_common(sight: CudaSight, declaration: Node, own: set[str]) -> bool:
    """Whether locals have the same value in all blocks, which no statement changes."""
    names = declared(sight, declaration)
    mentioned = sight.names.behind(declaration) - names
    is_fixed = all(name in sight.names.values for name in names)
    return is_fixed and not any(of_type(declaration, *_BUSY)) and not mentioned & {*own, "blockIdx.x"}


def coarsened(sight: CudaSight, found: Coarsenable, count: int) -> Patch:
    """The text with blocks that do the work of `count`."""
    patch, kernel, launch = sight.patch(), sight.kernel, sight.launch
    assert not isinstance(launch, Refusal)
    writer = _Writer(sight, found, count)
    first, last = found.statements[0], found.statements[-1]
    margin = indent_of(sight.file.source, first)
    lines = writer.lines()
    patch.between(first.start_byte, last.end_byte, "\n".join(indented(lines, margin)).lstrip())
    listed = next(of_type(kernel.node, "parameter_list"))
    parameters = [one for one in listed.named_children if one.type != "comment"]
    grid = sight.content(found.grid)
    patch.after(parameters[-1], f", unsigned int {writer.blocks}").after(launch.arguments[-1], f", {grid}")
    sign = field(found.grid, "operator")
    is_plain = grid.isidentifier() or (sign is not None and sight.content(sign) in "+-*/")
    whole = grid if is_plain else f"({grid})"
    return patch.replace(found.grid, f"({whole} + {count - 1}) / {count}")


class _Writer:
    """The statements of a kernel, each for all the blocks that became one."""

    def __init__(self, sight: CudaSight, found: Coarsenable, count: int) -> None:
        self._sight = sight
        self._found = found
        self._count = count
        self._unit = unit_of(sight.file.source, sight.kernel)
        self.blocks = fresh(sight.file, "block_count", "blocks_in_all")
        self._r = fresh(sight.file, "r", "block_of_several")
        self._first = fresh(sight.file, "first_block", "first_of_blocks")
        self._asked = 0
        self._lines = [f"const unsigned int {self._first} = blockIdx.x * {count};"]
        self._waiting = list[str]()  # what the next loop over the blocks does

    def lines(self) -> list[str]:
        body = self._sight.kernel.body
        for one in (each for each in body.named_children if each.end_byte <= self._found.statements[-1].end_byte):
            if one.start_byte >= self._found.statements[0].start_byte:
                self._statement(one)
        self._flush()
        return self._lines

    def _statement(self, node: Node) -> None:
        text = plain(self._sight.file.source, node)
        if text in _BARRIERS:
            self._flush()
            self._lines.append(text)
        elif node.type == "declaration":
            self._declaration(node)
        elif node.type == "if_statement" and (condition := field(node, "condition", "value")) is not None:
            if self._loads(condition):
                self._asked += 1
                wanted = ("asked", f"asked{self._asked}") if self._asked == 1 else (f"asked{self._asked}",)
                asked = fresh(self._sight.file, *wanted, f"{wanted[-1]}_")
                self._lines.append(f"bool {asked}[{self._count}];")
                self._waiting += _ended(f"{asked}[{self._r}] = ", self._of(condition))
                self._flush()
                self._waiting += self._of(node, [(condition.start_byte, condition.end_byte, f"{asked}[{self._r}]")])
            else:
                self._waiting += self._of(node)
            if self._loads(node):
                self._flush()
        else:
            self._waiting += self._of(node)
            if self._loads(node):
                self._flush()

    def _declaration(self, node: Node) -> None:
        sight, names = self._sight, declared(self._sight, node)
        source, kind = sight.file.source, field(node, "type")
        assert kind is not None
        if "__shared__" in sight.content(node):
            places = [one for one in named(source, node, names) if one.type == "identifier"]
            firsts = {sight.content(one): one for one in reversed(places)}
            changes = [(one.end_byte, one.end_byte, f"[{self._count}]") for one in firsts.values()]
            self._lines += region(source, (node.start_byte, node.end_byte), changes)
        elif not names & self._found.own:
            self._lines += region(source, (node.start_byte, node.end_byte))
        else:
            self._lines.append(f"{sight.content(kind)} {', '.join(f'{one}[{self._count}]' for one in sorted(names))};")
            for one in of_type(node, "init_declarator"):
                name, value = field(one, "declarator"), field(one, "value")
                if name is not None and value is not None:
                    self._waiting += _ended(f"{sight.content(name)}[{self._r}] = ", self._of(value))
            if self._loads(node):
                self._flush()

    def _loads(self, node: Node) -> bool:
        return any(one.space == "global" and one.reads and is_inside(one.node, node) for one in self._sight.accesses)

    def _of(self, node: Node, changes: list[Change] | None = None) -> list[str]:
        """The lines of some code for the r-th block."""
        source, found = self._sight.file.source, list(changes or [])
        for one in named(source, node, self._found.own | {"blockIdx.x", "gridDim.x"}):
            if any(start <= one.start_byte and one.end_byte <= end for start, end, _ in changes or []):
                continue
            code = plain(source, one)
            if code == "blockIdx.x":
                found.append((one.start_byte, one.end_byte, f"({self._first} + {self._r})"))
            elif code == "gridDim.x":
                found.append((one.start_byte, one.end_byte, self.blocks))
            else:
                found.append((one.end_byte, one.end_byte, f"[{self._r}]"))
        return region(source, (node.start_byte, node.end_byte), found)

    def _flush(self) -> None:
        if not self._waiting:
            return
        ends = f"if ({self._first} + {self._r} >= {self.blocks}) break;"
        head = f"for (int {self._r} = 0; {self._r} < {self._count}; ++{self._r}) {{"
        self._lines += ["#pragma unroll", head, *indented([ends, *self._waiting], self._unit), "}"]
        self._waiting = []


def _ended(start: str, code: list[str]) -> list[str]:
    """An assignment of some code."""
    return [
        start + code[0] + (";" if len(code) == 1 else ""),
        *code[1:-1],
        *([code[-1] + ";"] if len(code) > 1 else []),
    ]
