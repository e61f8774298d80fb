"""Sums over what the threads below a thread have stored, one after the other: by one scan of the block instead."""

from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, plain
from kernelwright.micro.rewrite.cuda_guarded import X, statements_of, type_of
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_region import unit_of
from kernelwright.micro.rewrite.cuda_scan import FLOATS, TYPES, added_to
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_tree import is_thread
from kernelwright.source.cuda.expressions import Loop
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.values import Refusal

_WARP = 32
_BARRIER = "__syncthreads();"
_LOOPS = ("for_statement", "while_statement", "do_statement")


@dataclass(frozen=True, eq=False)
class Below:
    """`for (int t = 0; t < threadIdx.x; ++t) sum += array[t];` in the statement `outer` of the kernel's body."""

    loop: Loop
    outer: Node
    array: str
    sum: str
    inclusive: bool
    block: int


def scanned_below(sight: CudaSight) -> tuple[Patch, Below] | Refusal:
    """The kernel in which all threads learn such sums together."""
    refused = Refusal("No thread adds up what those below it have stored.")
    for loop in sight.names.loops:
        found = _below(sight, loop)
        if isinstance(found, Below):
            return _written(sight, found), found
        refused = found or refused
    return refused


def _below(sight: CudaSight, loop: Loop) -> Below | Refusal | None:
    """The sum that a loop makes; None where it makes another one."""
    source, line, statements = sight.file.source, loop.node.start_point.row, statements_of(loop.body)
    sign, left, right = (field(loop.condition, part) for part in ("operator", "left", "right"))
    if loop.update is None or sign is None or left is None or right is None or len(statements) != 1:
        return None
    t, inner = loop.variable, statements[0].named_children
    counts = plain(source, left) == t and plain(source, loop.update) in (f"++{t}", f"{t}++", f"{t}+=1")
    added = added_to(sight, inner[0]) if inner and counts and is_thread(sight, right) else None
    if added is None or sight.names.number(loop.start) != 0 or sight.content(sign) not in ("<", "<="):
        return None
    fold, value = added
    array = field(value, "argument")
    name = sight.content(array) if array is not None else ""
    if fold.operator != "+" or plain(source, value) != f"{name}[{t}]" or len(sight.names.shared.get(name, ())) != 1:
        return Refusal("What a thread adds up is no array in shared memory, element by element.", line)
    kind = type_of(sight, fold.name)
    if kind not in TYPES or (kind not in FLOATS and type_of(sight, name) in FLOATS):
        return Refusal(f"`{fold.name}` is no local number of the kind that `{name}` holds.", line)
    if isinstance(sight.launch, Refusal):
        return sight.launch
    block, size = sight.block, sight.file.number(sight.names.shared[name][0])
    if block is None or any(one != 1 for one in block[1:]) or block[0] % _WARP or size is None or size < block[0]:
        return Refusal(f"The blocks are not of whole warps in one dimension, or larger than `{name}`.", line)
    outer = _top(sight, loop.node)
    why = _not_hoisted(sight, loop, outer, name)
    return why or Below(loop, outer, name, fold.name, sight.content(sign) == "<=", block[0])


def _top(sight: CudaSight, node: Node) -> Node:
    while node.parent is not None and node.parent != sight.kernel.body:
        node = node.parent
    return node


def _not_hoisted(sight: CudaSight, loop: Loop, outer: Node, array: str) -> Refusal | None:
    """Why the threads of a block do not have the array as it is in the loop together ahead of the statement around it."""
    line = loop.node.start_point.row
    early = next(of_type(sight.kernel.body, "return_statement", "goto_statement"), None)
    if early is not None and early.start_byte < loop.node.start_byte:
        return Refusal(
            "A thread may return ahead of the sum, which all threads of a block have to make.", early.start_point.row
        )
    if any(one != loop.node and is_inside(loop.node, one) for one in of_type(outer, *_LOOPS)):
        return Refusal("The sum is made more than once, in a loop.", line)
    if "__sync" in sight.content(outer) or any(
        one.writes and one.base == array and is_inside(one.node, outer) for one in sight.accesses
    ):
        return Refusal(f"`{array}` changes in the statement that the sum is made in.", line)
    before = outer.prev_named_sibling
    while before is not None and before.type in ("comment", "declaration"):
        before = before.prev_named_sibling
    if before is None or plain(sight.file.source, before) != _BARRIER:
        return Refusal("No barrier stands ahead of the statement that the sum is made in.", line)
    return None


def _written(sight: CudaSight, found: Below) -> Patch:
    source, patch, unit = sight.file.source, sight.patch(), unit_of(sight.file.source, sight.kernel)
    kind, margin = type_of(sight, found.sum), indent_of(source, found.outer)
    thread = next((one for one, value in sight.names.values.items() if plain(source, value) == X), X)
    upto, other = fresh(sight.file, "upto", "sum_here"), fresh(sight.file, "other", "neighbour")
    totals, w = fresh(sight.file, "warp_sums", "warp_totals"), fresh(sight.file, "w", "each_warp")
    below, step = fresh(sight.file, "below", "sum_below"), fresh(sight.file, "offset", "distance")
    name = upto if found.inclusive else below
    lines = [
        f"__shared__ {kind} {totals}[{found.block // _WARP}];",
        f"{kind} {upto} = {found.array}[{thread}];",
        f"for (int {step} = 1; {step} < 32; {step} <<= 1) {{",
        f"{unit}const {kind} {other} = __shfl_up_sync(0xffffffff, {upto}, {step});",
        f"{unit}if ({thread} % 32 >= {step}) {upto} += {other};",
        "}",
        f"if ({thread} % 32 == 31) {totals}[{thread} / 32] = {upto};",
        _BARRIER,
    ]
    if not found.inclusive:
        lines += [f"{kind} {below} = __shfl_up_sync(0xffffffff, {upto}, 1);", f"if ({thread} % 32 == 0) {below} = 0;"]
    lines += [f"for (int {w} = 0; {w} < {thread} / 32; ++{w}) {name} += {totals}[{w}];"]
    pragma = found.loop.node.prev_named_sibling
    if pragma is not None and pragma.type == "preproc_call":
        patch.cut(pragma)
    patch.before(found.outer, "".join(f"{one}\n{margin}" for one in lines))
    return patch.replace(found.loop.node, f"{found.sum} += {name};")
