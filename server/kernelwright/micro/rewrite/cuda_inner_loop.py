"""A kernel that computes one value a thread in one loop, between a guard and a store: `for (k …) sum += A[…] * B[…]`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import hiding_macro, other_threads, plain, unsettled
from kernelwright.micro.rewrite.cuda_guarded import Guarded, guarded, kind_of, reads_memory, statements_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.accesses import Access
from kernelwright.source.cuda.expressions import Loop
from kernelwright.source.cuda.text import field, of_type, walk
from kernelwright.values import Refusal

_JUMPS = ("return_statement", "break_statement", "continue_statement", "goto_statement")
_CHOICES = ("if_statement", "conditional_expression", "switch_statement", "while_statement", "do_statement")
_EXACT = re.compile(r"__syncthreads|__\w{1,24}_sync|__syncwarp|\basm\b|atomic\w+|printf|\bgoto\b")
_FUSED = ("fmaf", "fma", "__fmaf_rn", "__fma_rn", "__hfma")
_CONVERSIONS = re.compile(r"__half2float|__bfloat162float|float|double|static_cast<(?:float|double)>|__ldg")
_WIDE = ("float", "double")


@dataclass(frozen=True, eq=False)
class InnerLoop(Guarded):
    """A kernel whose work is one loop; `count` is its end, and it begins at 0."""

    loop: Loop
    count: Node


def inner_loop(sight: CudaSight) -> InnerLoop | Refusal:
    """The one counted loop of the kernel, which it reaches under plain guards; a Refusal for any other kernel."""
    loops = sight.names.loops
    if len(loops) != 1:
        how = "no loop that counts" if not loops else "more than one loop"
        return Refusal(f"The kernel has {how}, and only one inner loop between a guard and a store is known here.")
    loop = loops[0]
    special = not_movable(sight)
    if special is not None:
        return special
    count = _count(sight, loop)
    if isinstance(count, Refusal):
        return count
    parts = guarded(sight, loop.node)
    if isinstance(parts, Refusal):
        return parts
    found = InnerLoop(**vars(parts), loop=loop, count=count)
    return _simple(sight, found) or found


def not_movable(sight: CudaSight) -> Refusal | None:
    """What in a kernel has its place in the order of things, or reads what its place does not show."""
    body = sight.kernel.body
    special = _EXACT.search(sight.content(body))
    if special is not None:
        line = body.start_point.row + sight.content(body)[: special.start()].count("\n")
        return Refusal(f"The kernel uses `{special[0]}`, which may not be moved into another order.", line)
    hidden = hiding_macro(sight.names, body) or other_threads(sight.file, sight.kernel)
    if hidden is None:
        return None
    reason = f"`{sight.content(hidden)}` speaks of threads or locals that its place does not show."
    return Refusal(reason, hidden.start_point.row)


def is_product_sum(sight: CudaSight, loop: Loop, one: Access, other: Access) -> bool:
    """Whether the loop's body is `sum += a * b`, of which either factor may be zero to add nothing."""
    statements = statements_of(loop.body)
    if len(statements) != 1:
        return False
    added = _added(sight, statements[0])
    if added is None:
        return False
    factors = list(_factors(sight, *added))
    return len(factors) == 2 and {one.node, other.node} == set(factors)


def sum_of(sight: CudaSight, loop: Loop) -> str | None:
    """The local that the only statement of the loop adds to."""
    statements = statements_of(loop.body)
    assigned = next(of_type(statements[0], "assignment_expression"), None) if len(statements) == 1 else None
    left = field(assigned, "left")
    return sight.content(left) if left is not None and left.type == "identifier" else None


def _count(sight: CudaSight, loop: Loop) -> Node | Refusal:
    """The end of `for (int k = 0; k < end; ++k)`, the same for all threads of a block."""
    line, condition, update = loop.node.start_point.row, loop.condition, loop.update
    sign = field(condition, "operator")
    left, right = field(condition, "left"), field(condition, "right")
    steps = (f"++{loop.variable}", f"{loop.variable}++", f"{loop.variable}+=1")
    if (
        update is None
        or left is None
        or right is None
        or sign is None
        or plain(sight.file.source, update) not in steps
        or sight.content(sign) != "<"
        or sight.content(left) != loop.variable
        or sight.names.number(loop.start) != 0
    ):
        return Refusal("The loop does not count from 0 up to its end in steps of 1.", line)
    if kind_of(sight, right) or reads_memory(sight, right) or unsettled(sight.names, right):
        return Refusal("The number of turns is not the same for all threads of a block, as far as can be read.", line)
    return right


def _simple(sight: CudaSight, found: InnerLoop) -> Refusal | None:
    """Why the loop cannot be cut into pieces: a jump, a choice, a write to memory, or a name that changes its meaning."""
    body = found.loop.body
    for node in walk(body):
        if node.type in (*_JUMPS, *_CHOICES, "for_statement", "lambda_expression") or _is_logical(sight, node):
            return Refusal("The loop's body branches, so not every turn reads memory.", node.start_point.row)
        if node.type in ("assignment_expression", "update_expression"):
            target = field(node, "left") or field(node, "argument")
            if target is None or target.type != "identifier":
                return Refusal("The loop writes to more than a local variable.", node.start_point.row)
            if sight.content(target) == found.loop.variable:
                return Refusal("The loop's body changes the loop's variable.", node.start_point.row)
        if node.type == "pointer_expression" and sight.content(node).startswith("*"):
            return Refusal(f"`{sight.content(node)}` may be any element.", node.start_point.row)
        if node.type == "call_expression" and (callee := field(node, "function")) is not None:
            called = sight.file.function(sight.content(callee))
            if called is not None and any(one.is_pointer for one in called.parameters):
                return Refusal(f"`{called.name}` may read and write memory.", node.start_point.row)
    if sight.names.shared:
        return Refusal("The kernel stages data through shared memory already.", found.loop.node.start_point.row)
    return None


def _is_logical(sight: CudaSight, node: Node) -> bool:
    sign = field(node, "operator") if node.type == "binary_expression" else None
    return sign is not None and sight.content(sign) in ("&&", "||")


def _added(sight: CudaSight, statement: Node) -> tuple[Node, ...] | None:
    """The product that a statement adds to its sum: its two factors as nodes, or the product as one."""
    assigned = next(iter(statement.named_children), None)
    left, right, sign = field(assigned, "left"), field(assigned, "right"), field(assigned, "operator")
    if assigned is None or assigned.type != "assignment_expression" or left is None or right is None or sign is None:
        return None
    if sight.content(sign) == "+=":
        return (right,)
    if sight.content(sign) != "=":
        return None
    listed = [one for one in right.named_children if one.type != "comment"]
    if right.type == "binary_expression" and plain(sight.file.source, right.children[1]) == "+":
        same = [plain(sight.file.source, one) == plain(sight.file.source, left) for one in listed]
        return (listed[same.index(False)],) if sorted(same) == [False, True] else None
    given = _arguments(sight, right, *_FUSED)
    if len(given) == 3 and plain(sight.file.source, given[2]) == plain(sight.file.source, left):
        return (given[0], given[1])
    given = _arguments(sight, right, "__hadd")
    same = [plain(sight.file.source, one) == plain(sight.file.source, left) for one in given]
    return (given[same.index(False)],) if sorted(same) == [False, True] else None


def _arguments(sight: CudaSight, node: Node, *functions: str) -> list[Node]:
    """What a call of one of these functions passes; nothing for any other expression."""
    callee, arguments = field(node, "function"), field(node, "arguments")
    if node.type != "call_expression" or callee is None or arguments is None or sight.content(callee) not in functions:
        return []
    return [one for one in arguments.named_children if one.type != "comment"]


def _factors(sight: CudaSight, *nodes: Node) -> Iterator[Node]:
    for node in (_bare(sight, one) for one in nodes):
        if node.type == "binary_expression" and sight.content(node.children[1]) == "*":
            yield from _factors(sight, node.named_children[0], node.named_children[-1])
        elif given := _arguments(sight, node, "__hmul"):
            yield from _factors(sight, *given)
        else:
            yield node


def _bare(sight: CudaSight, node: Node) -> Node:
    """Without parentheses, casts and conversions between floating types, none of which changes a zero."""
    while True:
        inner = None
        if node.type == "parenthesized_expression":
            inner = node.named_children[0]
        elif node.type == "cast_expression" and (kind := field(node, "type")) is not None:
            inner = field(node, "value") if sight.content(kind) in _WIDE else None
        elif node.type == "pointer_expression" and sight.content(node).startswith("&"):
            inner = field(node, "argument")
        elif node.type == "call_expression" and (callee := field(node, "function")) is not None:
            given = field(node, "arguments")
            if _CONVERSIONS.fullmatch(plain(sight.file.source, callee)) and given is not None:
                inner = next(iter(given.named_children), None)
        if inner is None:
            return node
        node = inner
