"""Scans of a block in shared memory (Hillis and Steele), where each step adds what lies twice as far: by shuffles instead."""

import re
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, named, plain
from kernelwright.micro.rewrite.cuda_folds import Fold
from kernelwright.micro.rewrite.cuda_guarded import declared, statements_of, type_of
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_region import unit_of
from kernelwright.micro.rewrite.cuda_rows import operator_of, target_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_tree import is_thread
from kernelwright.source.cuda.expressions import Loop
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.values import Refusal

_DOUBLES = re.compile(r"(\w+)(?:<<=1|\*=2|\+=\1|=\1\*2|=2\*\1|=\1<<1)")
BARRIER = "__syncthreads();"
_NEUTRAL = ("0", "0.", "0.0", ".0", "")
_TYPES = ("float", "double", "int", "unsigned", "unsigned int", "long long", "unsigned long long")
_WARP = 32


@dataclass(frozen=True, eq=False)
class Steps:
    """The loop that scans `array` by `thread`; with two buffers, `side` says which one holds the sums so far."""

    loop: Loop
    array: str
    side: str
    thread: str
    value: str
    operator: str
    block: int


def shuffled_steps(sight: CudaSight) -> tuple[Patch, Steps] | Refusal:
    """The kernel with its scan by shuffles, of which one step goes through shared memory."""
    found = scan_steps(sight)
    if isinstance(found, Refusal):
        return found
    patch = sight.patch()
    _write(sight, patch, found)
    return patch, found


def scan_steps(sight: CudaSight) -> Steps | Refusal:
    """The first scan of a kernel in such steps."""
    refused = Refusal("The kernel has no scan in shared memory whose steps go twice as far each time.")
    for loop in sight.names.loops:
        found = _steps(sight, loop)
        if isinstance(found, Steps):
            return found
        refused = found or refused
    return refused


def _steps(sight: CudaSight, loop: Loop) -> Steps | Refusal | None:
    """The scan that a loop makes; None where it makes none."""
    source, line = sight.file.source, loop.node.start_point.row
    left, sign, right = (field(loop.condition, part) for part in ("left", "operator", "right"))
    doubles = _DOUBLES.fullmatch(plain(source, loop.update)) if loop.update is not None else None
    if doubles is None or doubles[1] != loop.variable or sight.names.number(loop.start) != 1:
        return None
    if left is None or right is None or sight.content(left) != loop.variable:
        return None
    found = _two_buffers(sight, loop) or _one_buffer(sight, loop)
    if found is None:
        return Refusal("The steps of the loop are no scan of one array, as far as can be read.", line)
    array, side, thread, value, operator = found
    if isinstance(sight.launch, Refusal):
        return sight.launch
    block, limit = sight.block, sight.names.polynomial(right)
    if block is None or any(size != 1 for size in block[1:]) or block[0] % _WARP:
        return Refusal("The blocks have no size that is a number of whole warps in this file, or two dimensions.", line)
    if sign is None or sight.content(sign) != "<" or limit.at({"blockDim.x": block[0]}).number != block[0]:
        return Refusal(f"The steps do not go as far as the block, which has {block[0]} threads.", line)
    is_shared = array in sight.names.shared and type_of(sight, array) in _TYPES
    if not is_shared or type_of(sight, value) != type_of(sight, array):
        return Refusal(f"`{array}` holds no plain numbers in shared memory, or `{value}` others.", line)
    steps = Steps(loop, array, side, thread, value, operator, block[0])
    if side and not _is_side(sight, steps):
        return Refusal(f"`{side}` says more than which buffer of `{array}` holds the sums.", line)
    return steps


def _two_buffers(sight: CudaSight, loop: Loop) -> tuple[str, str, str, str, str] | None:
    """`v = b[now][t]; if (t >= o) v += b[now][t - o]; b[1 - now][t] = v; now = 1 - now;` and a barrier."""
    texts = _texts(sight, loop)
    first = re.fullmatch(r"(\w+)\[(\w+)\]\[(.+)\]", texts[0][1]) if len(texts) == 5 and texts[0][0] else None
    if first is None:
        return None
    array, side, thread = first.groups()
    value = texts[0][0]
    operator = _added(sight, loop, value, thread, f"{array}[{side}][{thread}-{loop.variable}]")
    stores = (
        f"{array}[1-{side}][{thread}]={value};",
        f"{array}[!{side}][{thread}]={value};",
        f"{array}[{side}^1][{thread}]={value};",
    )
    flips = f"{side}=1-{side};", f"{side}^=1;", f"{side}=!{side};"
    tail = [text for _, text in texts[2:]]
    is_scan = tail[0] in stores and {*tail[1:]} in ({flip, BARRIER} for flip in flips)
    return (array, side, thread, value, operator) if operator and is_scan and _is_thread(sight, loop, thread) else None


def _one_buffer(sight: CudaSight, loop: Loop) -> tuple[str, str, str, str, str] | None:
    """`v = s[t]; if (t >= o) v += s[t - o];`, a barrier, `s[t] = v;` and a barrier; or what is added alone goes through `v`."""
    texts = _texts(sight, loop)
    tail = [text for _, text in texts]
    if len(texts) not in (4, 5) or not texts[0][0] or tail[-1] != BARRIER or tail[-3] != BARRIER:
        return None
    value, start, o = texts[0][0], tail[0], loop.variable
    stored = re.fullmatch(rf"(?:if\((?P<c>.+)>={o}\))?\{{?(?P<a>\w+)\[(?P<t>[^=]+?)\](?P<s>\+?=){value};\}}?", tail[-2])
    if stored is None or (stored["c"] or stored["t"]) != stored["t"] or not _is_thread(sight, loop, stored["t"]):
        return None
    array, thread = stored["a"], stored["t"]
    other = f"{array}[{thread}-{o}]"
    if stored["s"] == "=":
        operator = _added(sight, loop, value, thread, other) if len(texts) == 5 else ""
        is_whole = start == f"{array}[{thread}]" and stored["c"] is None
        return (array, "", thread, value, operator) if operator and is_whole else None
    if len(texts) == 4:
        chosen = re.fullmatch(r"\(?(.+)\)?\?(.+):(.+)", start)
        given = chosen is not None and chosen[1].rstrip(")") == f"{thread}>={o}" and chosen[2] == other
        is_sum = chosen is not None and given and chosen[3].rstrip("fF") in _NEUTRAL[:4]
    else:
        tests = (f"if({thread}>={o}){value}={other};", f"if({thread}>={o}){{{value}={other};}}")
        is_sum = tail[1] in tests and (start.rstrip("fF") in _NEUTRAL[:4] or (start == "" and stored["c"] is not None))
    return (array, "", thread, value, "+") if is_sum else None


def _texts(sight: CudaSight, loop: Loop) -> list[tuple[str, str]]:
    """The statements of a loop without blanks; of the declaration of a local, its name and value."""
    found = []
    for one in statements_of(loop.body):
        names = declared(sight, one) if one.type == "declaration" else frozenset()
        value = field(one, "declarator", "value")
        if one.type == "declaration":
            text = plain(sight.file.source, value) if value is not None else ""
            found.append((next(iter(names)) if len(names) == 1 else "", text))
        else:
            found.append(("", plain(sight.file.source, one)))
    return found


def _added(sight: CudaSight, loop: Loop, value: str, thread: str, other: str) -> str:
    """The operator of `if (t >= o) v += other;` as the second statement of a loop; "" for any other."""
    test = statements_of(loop.body)[1]
    condition, inside = field(test, "condition", "value"), field(test, "consequence")
    if test.type != "if_statement" or condition is None or inside is None or field(test, "alternative") is not None:
        return ""
    if plain(sight.file.source, condition) not in (f"{thread}>={loop.variable}", f"{loop.variable}<={thread}"):
        return ""
    only = statements_of(inside)
    assigned = only[0].named_children[0] if len(only) == 1 and only[0].named_children else None
    target = target_of(assigned) if assigned is not None else None
    sign, right = field(assigned, "operator"), field(assigned, "right")
    if target is None or sign is None or right is None or plain(sight.file.source, target) != value:
        return ""
    if sight.content(sign) in ("+=", "*="):
        return sight.content(sign)[0] if plain(sight.file.source, right) == other else ""
    parts = {plain(sight.file.source, one) for one in (field(right, "arguments") or right).named_children}
    return (operator_of(sight, value, right) or "") if sight.content(sign) == "=" and parts == {value, other} else ""


def _is_thread(sight: CudaSight, loop: Loop, thread: str) -> bool:
    """Whether some code is the thread's own index."""
    nodes = of_type(loop.body, "identifier", "field_expression")
    same = next((one for one in nodes if plain(sight.file.source, one) == thread), None)
    return same is not None and is_thread(sight, same)


def _is_side(sight: CudaSight, steps: Steps) -> bool:
    """Whether outside of the loop the buffers are read and written by `b[now][…]` alone, and `now` has no other use."""
    outside = [one for one in sight.accesses if one.base == steps.array and not is_inside(one.node, steps.loop.node)]
    if any(len(one.indices) != 2 or plain(sight.file.source, one.indices[0]) != steps.side for one in outside):
        return False
    indices = [one.indices[0] for one in outside]
    uses = named(sight.file.source, sight.kernel.body, frozenset({steps.side}))
    homes = [*indices, *([one] if (one := single_declaration(sight, steps.side)) is not None else [])]
    loose = [
        one for one in uses if not is_inside(one, steps.loop.node) and not any(is_inside(one, home) for home in homes)
    ]
    return not loose and single_declaration(sight, steps.side) is not None


def single_declaration(sight: CudaSight, name: str) -> Node | None:
    """The declaration of one local alone."""
    found = [one for one in of_type(sight.kernel.body, "declaration") if name in declared(sight, one)]
    return found[0] if len(found) == 1 and len(declared(sight, found[0])) == 1 else None


def _write(sight: CudaSight, patch: Patch, steps: Steps) -> None:
    source, loop = sight.file.source, steps.loop
    kind, thread = type_of(sight, steps.array), steps.thread
    margin, unit = indent_of(source, loop.node), unit_of(source, sight.kernel)
    other, w = fresh(sight.file, "other", "below", "neighbour"), fresh(sight.file, "w", "each_warp")
    totals = fresh(sight.file, "warp_sums" if steps.operator == "+" else "warp_values", "warp_totals")
    own = f"{steps.array}[{thread}]"
    homes = [one for one in of_type(sight.kernel.body, "declaration") if steps.value in declared(sight, one)]
    value = steps.value if len(homes) == 1 else fresh(sight.file, "scanned", "sum_so_far")
    fold = Fold(value, steps.operator)
    pragma, array = loop.node.prev_named_sibling, single_declaration(sight, steps.array)
    if pragma is not None and pragma.type == "preproc_call":
        patch.cut(pragma)
    shared = f"__shared__ {kind} {totals}[{steps.block // _WARP}];"
    if array is not None:
        patch.after(array, f"\n{indent_of(source, array)}{shared}")
    step = loop.variable
    start = _own(sight, patch, steps)
    lines = [
        *([] if array is not None else [shared]),
        f"{kind} {value} = {start or own};",
        f"for (int {step} = 1; {step} < 32; {step} <<= 1) {{",
        f"{unit}const {kind} {other} = __shfl_up_sync(0xffffffff, {value}, {step});",
        f"{unit}if ({thread} % 32 >= {step}) {fold.code(other)}",
        "}",
        f"if ({thread} % 32 == 31) {totals}[{thread} / 32] = {value};",
        BARRIER,
        f"for (int {w} = 0; {w} < {thread} / 32; ++{w}) {fold.code(f'{totals}[{w}]')}",
        f"{own} = {value};",
        BARRIER,
    ]
    patch.replace(loop.node, f"\n{margin}".join(lines))
    if steps.side:
        _one_side(sight, patch, steps)


def _own(sight: CudaSight, patch: Patch, steps: Steps) -> str:
    """What the thread stores right ahead of the loop, taken out with the barrier behind it; "" where it stores elsewhere."""
    barrier = _before(steps.loop.node)
    store = _before(barrier) if barrier is not None else None
    source, side = sight.file.source, f"[{steps.side}]" if steps.side else ""
    assigned = store.named_children[0] if store is not None and store.type == "expression_statement" else None
    right, sign = field(assigned, "right"), field(assigned, "operator")
    target = target_of(assigned) if assigned is not None else None
    if barrier is None or store is None or right is None or sign is None or target is None:
        return ""
    is_own = plain(source, target) == f"{steps.array}{side}[{steps.thread}]" and sight.content(sign) == "="
    is_only = next(named(source, right, frozenset({steps.array})), None) is None
    if plain(source, barrier) != BARRIER or not is_own or not is_only:
        return ""
    patch.cut(store).cut(barrier)
    return sight.content(right)


def _before(node: Node) -> Node | None:
    found = node.prev_named_sibling
    while found is not None and found.type in ("comment", "preproc_call"):
        found = found.prev_named_sibling
    return found


def _one_side(sight: CudaSight, patch: Patch, steps: Steps) -> None:
    """Leave one of the two buffers, and take out what says which one is used."""
    cut = [one for one in (single_declaration(sight, steps.side),) if one is not None]
    for one in cut:
        patch.cut(one)
    gone = _before(_before(steps.loop.node) or steps.loop.node) if _own(sight, sight.patch(), steps) else None
    for access in sight.accesses:
        inside = is_inside(access.node, steps.loop.node) or (gone is not None and is_inside(access.node, gone))
        if access.base == steps.array and not inside:
            patch.replace(access.node, f"{steps.array}[{sight.content(access.indices[1])}]")
    for one in of_type(sight.kernel.body, "array_declarator"):
        inner = field(one, "declarator")
        if (
            inner is not None
            and inner.type == "array_declarator"
            and plain(sight.file.source, inner).startswith(f"{steps.array}[")
        ):
            patch.replace(one, f"{steps.array}[{sight.content(field(one, 'size') or one)}]")
