"""Reductions of a block as a tree in shared memory: in each turn half of the threads add what lies a step away."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import plain
from kernelwright.micro.rewrite.cuda_guarded import X, statements_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source import polynomials
from kernelwright.source.cuda.accesses import Access
from kernelwright.source.cuda.expressions import Loop
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.source.polynomials import Polynomial
from kernelwright.values import Refusal

_HALVES = re.compile(r"(\w+)(?:>>=1|/=2|=\1>>1|=\1/2)")
_DOUBLES = re.compile(r"(\w+)(?:<<=1|\*=2|\+=\1|=\1\*2|=2\*\1|=\1<<1)")
_ABOVE_ZERO = re.compile(r"(\w+)(?:>0|>=1|!=0)?")
_CALLS = ("fmaxf", "fminf", "fmax", "fmin", "max", "min")
_BARRIER = "__syncthreads();"
_WARP = 32


@dataclass(frozen=True)
class Combined:
    """One array that a tree folds into its first element: by `+=` or another operator, or by `fmaxf` and the like."""

    array: str
    operator: str

    def code(self, into: str, other: str) -> str:
        if self.operator in _CALLS:
            return f"{into} = {self.operator}({into}, {other});"
        return f"{into} {self.operator}= {other};"


@dataclass(frozen=True, eq=False)
class Tree:
    """The loop of a tree with the barrier ahead of it; `block` threads take part."""

    loop: Loop
    barrier: Node
    folds: tuple[Combined, ...]
    block: int


def trees(sight: CudaSight) -> tuple[Tree, ...] | Refusal:
    """The trees of a kernel in order of the text; a Refusal that says why there is none."""
    why: list[Refusal] = []
    found: list[Tree] = []
    for loop in sight.names.loops:
        tree = _tree(sight, loop)
        if isinstance(tree, Tree):
            found.append(tree)
        elif tree is not None:
            why.append(tree)
    return tuple(found) or next(iter(why), Refusal("The kernel has no reduction as a tree in shared memory."))


def is_thread(sight: CudaSight, node: Node) -> bool:
    """Whether an index is the thread's own."""
    return sight.names.polynomial(node) == polynomials.name(X)


def _tree(sight: CudaSight, loop: Loop) -> Tree | Refusal | None:
    statements = statements_of(loop.body)
    if len(statements) not in (2, 3) or plain(sight.file.source, statements[-1]) != _BARRIER:
        return None
    line = loop.node.start_point.row
    guard = statements[-2]
    inside = field(guard, "consequence")
    if guard.type != "if_statement" or inside is None or field(guard, "alternative") is not None:
        return None
    folds = [_folded(sight, loop, one) for one in statements_of(inside)]
    if not folds or None in folds:
        return None
    launch = sight.launch
    if isinstance(launch, Refusal):
        return launch
    block = sight.block
    if block is None or any(size != 1 for size in block[1:]):
        return Refusal("The blocks have no size that is a number in this file, or more than one dimension.", line)
    size = block[0]
    if size & (size - 1) or not 2 * _WARP <= size <= _WARP * _WARP:
        return Refusal(f"The blocks have {size} threads; whole warps in a power of two are needed.", line)
    if not (_is_halving(sight, loop, guard, size) or _is_doubling(sight, loop, statements, size)):
        return Refusal("The tree does not take in all threads of the block once, as far as can be read.", line)
    before = _before(loop.node)
    if before is None or plain(sight.file.source, before) != _BARRIER:
        return Refusal("No barrier stands right ahead of the tree.", line)
    return Tree(loop, before, tuple(one for one in folds if one is not None), size)


def _folded(sight: CudaSight, loop: Loop, statement: Node) -> Combined | None:
    """`a[tid] += a[tid + s]` or `a[tid] = fmaxf(a[tid], a[tid + s])`."""
    assigned = next(iter(statement.named_children), None)
    left, right, sign = (field(assigned, part) for part in ("left", "right", "operator"))
    if assigned is None or assigned.type != "assignment_expression" or left is None or right is None or sign is None:
        return None
    source, written = sight.file.source, sight.content(sign)
    both = [one for one in sight.accesses if is_inside(one.node, assigned)]
    bases = {one.base for one in both}
    if len(bases) != 1 or {one.space for one in both} != {"shared"} or any(len(one.indices) != 1 for one in both):
        return None
    if not _are_apart(sight, loop, [one for one in both if plain(source, one.node) != plain(source, left)], left):
        return None
    other = next(one.node for one in both if plain(source, one.node) != plain(source, left))
    pair = {plain(source, left), plain(source, other)}
    if written in ("+=", "*=") and right == other:
        return Combined(next(iter(bases)), written[0])
    if written != "=":
        return None
    if right.type == "binary_expression" and (operator := field(right, "operator")) is not None:
        parts = {plain(source, one) for one in right.named_children}
        return (
            Combined(next(iter(bases)), sight.content(operator))
            if parts == pair and sight.content(operator) in "+*"
            else None
        )
    callee, listed = field(right, "function"), field(right, "arguments")
    if callee is None or listed is None or sight.content(callee) not in _CALLS:
        return None
    return (
        Combined(next(iter(bases)), sight.content(callee))
        if {plain(source, one) for one in listed.named_children} == pair
        else None
    )


def _are_apart(sight: CudaSight, loop: Loop, others: list[Access], left: Node) -> bool:
    """Whether the one other element is a step of the loop behind the first."""
    first = next((one for one in sight.accesses if one.node == left), None)
    if first is None or len(others) != 1:
        return False
    step = sight.names.polynomial(others[0].indices[0]) - sight.names.polynomial(first.indices[0])
    return step == polynomials.name(loop.variable)


def _is_halving(sight: CudaSight, loop: Loop, guard: Node, size: int) -> bool:
    source = sight.file.source
    start = _at(sight, loop.start, size)
    condition, update = loop.condition, loop.update
    tested = field(guard, "condition", "value")
    left, right, sign = (field(tested, part) for part in ("left", "right", "operator"))
    if condition is None or update is None or left is None or right is None or sign is None:
        return False
    steps, ends = _HALVES.fullmatch(plain(source, update)), _ABOVE_ZERO.fullmatch(plain(source, condition))
    return (
        start == size // 2
        and steps is not None
        and ends is not None
        and {steps[1], ends[1]} == {loop.variable}
        and sight.content(sign) == "<"
        and is_thread(sight, left)
        and sight.content(right) == loop.variable
    )


def _is_doubling(sight: CudaSight, loop: Loop, statements: tuple[Node, ...], size: int) -> bool:
    """`s = 1; s < blockDim.x; s *= 2` over every 2 * s-th thread, or over the elements `2 * s * tid`."""
    source, s = sight.file.source, loop.variable
    condition, update = loop.condition, loop.update
    left, right, sign = (field(condition, part) for part in ("left", "right", "operator"))
    if update is None or left is None or right is None or sign is None or sight.content(sign) != "<":
        return False
    steps = _DOUBLES.fullmatch(plain(source, update))
    counted = steps is not None and steps[1] == s and sight.content(left) == s
    if not counted or sight.names.number(loop.start) != 1 or _at(sight, right, size) != size:
        return False
    tested = field(statements[-2], "condition", "value")
    one, other, how = (field(tested, part) for part in ("left", "right", "operator"))
    if one is None or other is None or how is None:
        return False
    if sight.content(how) == "==" and sight.names.number(other) == 0 and one.type == "binary_expression":
        thread, period, sign = (field(one, part) for part in ("left", "right", "operator"))
        if thread is None or period is None or sign is None or sight.content(sign) != "%":
            return False
        return is_thread(sight, thread) and sight.names.polynomial(period) == _twice(s)
    reach = sight.names.polynomial(one)
    return sight.content(how) == "<" and reach == _twice(s) * polynomials.name(X) and _at(sight, other, size) == size


def _twice(name: str) -> Polynomial:
    return polynomials.number(2) * polynomials.name(name)


def _at(sight: CudaSight, node: Node, size: int) -> int | None:
    """An expression over `blockDim.x` in blocks of that size."""
    written = re.sub(r"\bblockDim\s*\.\s*x\b", str(size), sight.content(node))
    return sight.file.number(written)


def _before(node: Node) -> Node | None:
    """The statement in front of one, past comments and pragmas."""
    found = node.prev_named_sibling
    while found is not None and found.type in ("comment", "preproc_call"):
        found = found.prev_named_sibling
    return found


def returns(sight: CudaSight) -> Iterator[Node]:
    return of_type(sight.kernel.body, "return_statement")
