"""Work inside of a block that a thread does alone for a row: given to a warp, whose lanes fold what they have come to."""

import re
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import mentions, named, other_threads, plain, unsettled
from kernelwright.micro.rewrite.cuda_columns import Columns, columns, shared_columns
from kernelwright.micro.rewrite.cuda_guarded import X, declared, hidden_access, kind_of, statements_of
from kernelwright.micro.rewrite.cuda_parallel_rows import Team, arrays, folded, share
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_region import indented
from kernelwright.micro.rewrite.cuda_rows import RowLoop, looked_at, row_loop, target_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source import polynomials
from kernelwright.source.cuda.expressions import Loop
from kernelwright.source.cuda.text import field, is_inside, of_type, walk
from kernelwright.values import Refusal

_WARP = 32
_BARRIER = "__syncthreads();"
_TOGETHER = re.compile(r"\bwarpSize\b|_sync\(|\basm\b")
_LARGER = (256, 512, 1024)


@dataclass(frozen=True, eq=False)
class Lone:
    """What one thread does: `outer` is the loop in which each thread takes rows, or else the `if` of thread 0.

    `loops` go along a row, `single` are stores besides, of all its `statements`.
    """

    outer: Loop | Node
    loops: tuple[RowLoop, ...]
    single: tuple[Node, ...]
    statements: tuple[Node, ...]

    @property
    def node(self) -> Node:
        return self.outer.node if isinstance(self.outer, Loop) else self.outer

    def __str__(self) -> str:
        return f"rows by {self.outer.variable}" if isinstance(self.outer, Loop) else "what thread 0 does"


def warp_rows(sight: CudaSight) -> tuple[tuple[tuple[str, Patch], ...], tuple[Lone, ...]] | Refusal:
    """The kernel with such work done by warps, in blocks as large as they are, and in larger ones where nothing else changes.

    What thread 0 does is done by the first warp in one variant, and by the block in the others.
    """
    block = sight.any_block
    if isinstance(block, Refusal):
        return block
    if any(size != 1 for size in block[1:]) or block[0] % _WARP or block[0] == _WARP:
        return Refusal("The blocks are not of several whole warps in one dimension.")
    refused = Refusal("No thread of a block does the work of a row alone in a loop of its own.")
    found: list[Lone] = []
    for node in statements_of(sight.kernel.body):
        loop = next((one for one in sight.names.loops if one.node == node), None)
        lone = _strided(sight, loop, block[0]) if loop is not None else _of_thread_0(sight, node)
        why = _not_shared(sight, lone) if isinstance(lone, Lone) else lone
        if isinstance(lone, Lone) and why is None:
            found.append(lone)
        elif isinstance(why, Refusal):
            refused = why
    if not found:
        return refused
    variants = [("by warps", _written(sight, found, block[0], False))]
    if any(isinstance(one.outer, Node) for one in found):
        variants.append(("by warps and the block", _written(sight, found, block[0], True)))
    larger = (
        [size for size in _LARGER if size > block[0]] if not sight.assumes_line_block and _grows(sight, found) else []
    )
    rows = [one.node for one in found]
    shared = tuple(one for one in columns(sight) if one.outer.node not in rows) if larger else ()
    for size, given in ((size, given) for given in ((), *([shared] if shared else [])) for size in larger):
        patch = _written(sight, found, size, True, given)
        assert not isinstance(sight.launch, Refusal)
        assert sight.launch.block is not None
        patch.replace(sight.launch.block, str(size))
        variants.append((f"by warps and blocks of {size} threads{', columns too' if given else ''}", patch))
    return tuple(variants), tuple(found)


def _written(sight: CudaSight, found: list[Lone], size: int, by_block: bool, shared: tuple[Columns, ...] = ()) -> Patch:
    patch = sight.patch()
    alone = [one for one in found if isinstance(one.outer, Node)] if by_block else []
    partial, lines = arrays(sight, [fold for one in alone for loop in one.loops for fold in loop.folds], size)
    lines += [line for one in shared for line in shared_columns(sight, patch, one, size)]
    first = sight.kernel.body.named_children[0]
    patch.before(first, "".join(f"{line}\n{indent_of(sight.file.source, first)}" for line in lines))
    for lone in found:
        _write(sight, patch, lone, Team(size, by_block and isinstance(lone.outer, Node)), partial)
    return patch


def _strided(sight: CudaSight, loop: Loop, size: int) -> Lone | Refusal | None:
    """A loop `for (t = threadIdx.x; t < n; t += blockDim.x)` around loops along a row; None for any other loop."""
    right, least = field(loop.condition, "right"), field(loop.condition, "left")
    sign, step = field(loop.update, "operator"), field(loop.update, "right")
    if sign is None or step is None or least is None or right is None or sight.content(sign) != "+=":
        return None
    is_own = sight.names.polynomial(loop.start) == polynomials.name(X)
    stride = sight.names.polynomial(step).at({"blockDim.x": size}).number
    inner = [one for one in sight.names.loops if one.node != loop.node and is_inside(one.node, loop.body)]
    if not is_own or stride != size or not inner or sight.content(least) != loop.variable:
        return None
    found = looked_at(sight, loop.variable, right, statements_of(loop.body))
    if isinstance(found, Refusal):
        return found
    if kind_of(sight, right) or unsettled(sight.names, right):
        return Refusal("The threads of a block have different numbers of rows.", loop.node.start_point.row)
    return Lone(loop, found.loops, found.single, found.statements)


def _of_thread_0(sight: CudaSight, node: Node) -> Lone | Refusal | None:
    """What stands in `if (threadIdx.x == 0)`, where it is made of loops that fold; None for anything else."""
    condition, inside = field(node, "condition", "value"), field(node, "consequence")
    sign, left, right = (field(condition, part) for part in ("operator", "left", "right"))
    if node.type != "if_statement" or inside is None or sign is None or left is None or right is None:
        return None
    is_first = sight.names.polynomial(left) == polynomials.name(X) and sight.names.number(right) == 0
    statements = statements_of(inside)
    if not is_first or sight.content(sign) != "==" or field(node, "alternative") is not None:
        return None
    if not any(one.type == "for_statement" for one in statements):
        return None
    loops, single = list[RowLoop](), list[Node]()
    for one in statements:
        line, hidden = one.start_point.row, hidden_access(sight, one)
        if hidden is not None:
            return Refusal(f"`{sight.content(hidden)}` may read and write memory.", line)
        if one.type == "for_statement":
            loop = next((other for other in sight.names.loops if other.node == one), None)
            folding = row_loop(sight, "", loop, loops) if loop is not None else None
            if folding is None or isinstance(folding, Refusal):
                return folding or Refusal("A loop of thread 0 does not count from its start in steps of 1.", line)
            loops.append(folding)
        elif one.type == "expression_statement":
            target = target_of(one.named_children[0]) if one.named_children else None
            if target is not None and (target.type != "identifier" or _is_shared(sight, sight.content(target))):
                single.append(one)
        elif one.type != "declaration":
            return Refusal("Something other than loops and assignments is done by thread 0.", line)
    return Lone(node, tuple(loops), tuple(single), statements)


def _is_shared(sight: CudaSight, name: str) -> bool:
    """Whether a name is one value in shared memory."""
    found = (one for one in of_type(sight.kernel.body, "declaration") if name in declared(sight, one))
    return any("__shared__" in sight.content(one) for one in found)


def _not_shared(sight: CudaSight, lone: Lone) -> Refusal | None:
    """Why the lanes of a warp cannot do it together: what they change, have read, or have not all come to."""
    line = lone.node.start_point.row
    early = next(of_type(sight.kernel.body, "return_statement", "goto_statement"), None)
    if early is not None and early.start_byte < lone.node.start_byte:
        return Refusal("A thread may return ahead of the work, which a whole warp has to do.", early.start_point.row)
    own = {name for one in of_type(lone.node, "declaration") for name in declared(sight, one)}
    for node in walk(lone.node):
        target = target_of(node)
        name = sight.content(target) if target is not None and target.type == "identifier" else ""
        is_head = isinstance(lone.outer, Loop) and name == lone.outer.variable and is_inside(node, lone.outer.body)
        if is_head or (name and name not in own and not _is_shared(sight, name)):
            return Refusal(f"`{name}` outlives the work of the row.", node.start_point.row)
    inside = [one for one in sight.accesses if is_inside(one.node, lone.node) and one.space != "local"]
    if any(one.space == "local" and is_inside(one.node, lone.node) for one in sight.accesses):
        return Refusal("The thread keeps an array of its own.", line)
    if isinstance(lone.outer, Node):
        positions = of_type(lone.statements[0].parent or lone.node, "identifier", "field_expression")
        stray = next((one for one in positions if X in sight.names.behind(one)), None)
        if stray is not None:
            return Refusal(f"`{sight.content(stray)}` is the number of the thread.", stray.start_point.row)
    outside = {one.base for one in sight.accesses if one.writes and not is_inside(one.node, lone.node)}
    for node in walk(sight.kernel.body):
        target = target_of(node)
        name = sight.content(target) if target is not None and target.type == "identifier" else ""
        if not is_inside(node, lone.node) and _is_shared(sight, name):
            outside.add(name)
    reads = any(one.base in outside for one in inside) or mentions(sight.file.source, lone.node, frozenset(outside))
    if reads and not _is_barrier(sight, lone.node.prev_named_sibling, False):
        return Refusal("No barrier stands ahead of the work, whose elements the thread may have stored itself.", line)
    stored = {one.base for one in inside if one.writes}
    used = {one.base for one in sight.accesses if one.node.start_byte >= lone.node.end_byte}
    if stored & used and isinstance(lone.outer, Loop) and not _is_barrier(sight, lone.node.next_named_sibling, True):
        return Refusal("No barrier stands behind the work, whose elements its thread may use itself.", line)
    return None


def _is_barrier(sight: CudaSight, node: Node | None, is_behind: bool) -> bool:
    """Whether the next statement, apart from declarations ahead of the work, waits for the block."""
    while node is not None and node.type in (("comment",) if is_behind else ("comment", "declaration", "preproc_call")):
        node = node.next_named_sibling if is_behind else node.prev_named_sibling
    return node is not None and plain(sight.file.source, node) == _BARRIER


def _write(sight: CudaSight, patch: Patch, lone: Lone, team: Team, partial: dict[str, str]) -> None:
    source, thread = sight.file.source, _thread(sight, lone.node)
    lane, step, wait = f"{thread} % 32", "32", "__syncwarp();"
    if isinstance(lone.outer, Loop):
        update = lone.outer.update
        assert update is not None
        patch.replace(lone.outer.start, f"{thread} / 32").replace(
            update, f"{lone.outer.variable} += {team.block // _WARP}"
        )
    else:
        lane = thread
        condition, inside = field(lone.outer, "condition"), field(lone.outer, "consequence")
        assert condition is not None
        assert inside is not None
        if team.is_block:
            step, wait = str(team.block), _BARRIER
            patch.between(lone.outer.start_byte, inside.start_byte, "")
        else:
            patch.replace(condition, f"({thread} < 32)")
    for one in lone.loops:
        share(sight, patch, one, lane, step)
        lines = list(folded(sight, one.folds, team, partial))
        if one.stores and (team.is_block or one.loop.node != lone.statements[-1]) and lines[-1:] != [wait]:
            lines.append(wait)
        margin = indent_of(source, one.loop.node)
        patch.after(one.loop.node, "".join(f"\n{line}" for line in indented(lines, margin)))
    for statement in lone.single:
        patch.before(statement, f"if ({lane} == 0) ")
        if statement != lone.statements[-1] and any(
            one.loop.node.start_byte > statement.end_byte for one in lone.loops
        ):
            patch.after(statement, f"\n{indent_of(source, statement)}{wait}")


def _thread(sight: CudaSight, node: Node) -> str:
    """What the kernel calls the index of its thread where a node stands."""
    values = sight.names.values.items()
    ahead = (
        name for name, value in values if plain(sight.file.source, value) == X and value.end_byte < node.start_byte
    )
    known = [name for name in ahead if next(named(sight.file.source, node, frozenset({name})), None) is not None]
    return next(iter(known), X)


def _grows(sight: CudaSight, found: list[Lone]) -> bool:
    """Whether a block of more threads does the same: each asks for its number only where it takes a share of a loop."""
    launch, body = sight.launch, sight.kernel.body
    if isinstance(launch, Refusal) or launch.block is None or launch.grid is None or sight.kernel.bounds:
        return False
    if launch.block.type != "number_literal" and sight.content(launch.block) in sight.names_at_launch.behind(
        launch.grid
    ):
        return False
    shared = [one for one in sight.names.loops if _is_shared_loop(sight, one)]
    threads = {X, *(name for name, value in sight.names.values.items() if plain(sight.file.source, value) == X)}
    allowed = [one.node for one in found]
    allowed += [node for one in shared for node in (one.start, one.update) if node is not None]
    allowed += [value for name, value in sight.names.values.items() if name in threads]
    for node in named(sight.file.source, body, frozenset({*threads, "blockDim.x"})):
        declares = node.parent is not None and field(node.parent, "declarator") == node
        if not declares and not any(is_inside(node, one) for one in allowed) and not _asks_for_first(sight, node):
            return False
    return other_threads(sight.file, sight.kernel) is None and not _TOGETHER.search(sight.content(body))


def _is_shared_loop(sight: CudaSight, loop: Loop) -> bool:
    """Whether the threads of the block take every so-manieth turn, and carry nothing from one to the next."""
    step = field(loop.update, "right")
    if sight.names.polynomial(loop.start) != polynomials.name(X) or step is None:
        return False
    if plain(sight.file.source, step) != "blockDim.x":
        return False
    own = {name for one in of_type(loop.body, "declaration") for name in declared(sight, one)}
    changed = (target for node in walk(loop.body) if (target := target_of(node)) is not None)
    inside = [one for one in sight.accesses if is_inside(one.node, loop.body)]
    stored = {one.base: plain(sight.file.source, one.node) for one in inside if one.writes}
    apart = all(stored.get(one.base, code) == code for one in inside if (code := plain(sight.file.source, one.node)))
    return apart and all(one.type != "identifier" or sight.content(one) in own for one in changed)


def _asks_for_first(sight: CudaSight, node: Node) -> bool:
    """Whether it is `threadIdx.x == 0`."""
    parent = node.parent
    sign, right = field(parent, "operator"), field(parent, "right")
    return sign is not None and right is not None and sight.content(sign) == "==" and sight.names.number(right) == 0
