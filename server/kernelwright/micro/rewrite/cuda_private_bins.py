"""Atomic additions to a small table, counted in shared memory by each block and added to the table once at its end."""

import math
import re
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, named
from kernelwright.micro.rewrite.cuda_guarded import Bound, joined, statements_of, type_of
from kernelwright.micro.rewrite.cuda_independent import macros_with
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_region import Change, indented, region, unit_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.expressions import BUILT_IN
from kernelwright.source.cuda.text import field, of_type
from kernelwright.values import Refusal

_BYTES = {
    "int": 4,
    "int32_t": 4,
    "uint32_t": 4,
    "unsigned": 4,
    "unsigned int": 4,
    "float": 4,
    "double": 8,
    "unsigned long long": 8,
}
_ZERO = {"float": "0.0f", "double": "0.0"}
_SHARED = 48 * 1024  # bytes of a block that need no leave
_SMALL = {"unsigned char": 256, "uint8_t": 256, "bool": 2}
_WIDE = frozenset(
    ("int", "unsigned", "unsigned int", "long", "long long", "size_t", "int32_t", "uint32_t", "int64_t", "uint64_t",
     "short", "unsigned short", "int16_t", "uint16_t", "auto")
)  # fmt: skip
_JUMPS = ("return_statement", "goto_statement", "lambda_expression", "gnu_asm_expression")
_LEAVES = re.compile(r"\b(?:exit|__trap|__exit)\s*\(")
_BIN = re.compile(r"bin|hist|bucket|class|level|digit", re.I)


@dataclass(frozen=True, eq=False)
class Addition:
    """`atomicAdd(&table[index], value);` as a statement."""

    statement: Node
    call: Node
    target: Node
    index: Node
    value: Node


@dataclass(frozen=True, eq=False)
class Bins:
    """A table of `size` elements, as `written`, that a kernel adds to; `sure`: no index can lie beyond it."""

    table: str
    element: str
    additions: tuple[Addition, ...]
    size: int
    written: str
    sure: bool
    skip: Node | None  # `if (i >= n) return;` ahead of the additions

    @property
    def in_loop(self) -> bool:
        """Whether a thread adds more than once."""
        outer: Node | None = self.additions[0].statement
        while outer is not None and outer.type not in ("for_statement", "while_statement", "do_statement"):
            outer = outer.parent
        return outer is not None


def private_bins(sight: CudaSight) -> tuple[Patch, Bins] | Refusal:
    """The kernel with a table for each block in shared memory; the launch stays as it is."""
    found = _bins(sight)
    if isinstance(found, Refusal):
        return found
    block = sight.any_block
    if isinstance(block, Refusal):
        return block
    if len(block) > 2 and block[2] != 1:
        return Refusal("The blocks have three dimensions.", found.additions[0].call.start_point.row)
    return _written(sight, found, len(block) > 1 and block[1] != 1), found


def _bins(sight: CudaSight) -> Bins | Refusal:
    calls = [one for one in of_type(sight.kernel.body, "call_expression") if _called(sight, one) == "atomicAdd"]
    if not calls:
        return Refusal("The kernel adds to no table by atomics.")
    line = calls[0].start_point.row
    additions = [_addition(sight, one) for one in calls]
    tables = dict.fromkeys(table for one in additions if one is not None for table in (one[0],))
    if None in additions or len(tables) != 1:
        return Refusal(
            "What the kernel adds to by atomics is not one table behind a pointer, or what one returns is used.", line
        )
    table, found = next(iter(tables)), tuple(one[1] for one in additions if one is not None)
    parameter = sight.kernel.parameter(table)
    if parameter is None or parameter.pointers != 1 or parameter.base not in _BYTES:
        return Refusal(f"`{table}` holds no plain numbers that atomics in shared memory can add to.", line)
    uses = list(named(sight.file.source, sight.kernel.body, frozenset({table})))
    other = next((use for use in uses if not any(_is_within(use, one.target) for one in found)), None)
    if other is not None:
        return Refusal(f"`{table}` is used for more than the additions.", other.start_point.row)
    if not any(_differs(sight, one.index) for one in found):
        return Refusal("All threads of a block add to the same element.", line)
    if sight.names.shared:
        return Refusal("The kernel keeps an array in shared memory already.", line)
    skip = _skip(sight, found)
    if isinstance(skip, Refusal):
        return skip
    return _sized(sight, table, parameter.base, found, skip)


def _called(sight: CudaSight, call: Node) -> str:
    callee = field(call, "function")
    return sight.content(callee) if callee is not None else ""


def _addition(sight: CudaSight, call: Node) -> tuple[str, Addition] | None:
    """The table and the addition, where the call is a statement of its own: `&table[index]` or `table + index`."""
    listed, statement = field(call, "arguments"), call.parent
    given = [one for one in listed.named_children if one.type != "comment"] if listed is not None else []
    if len(given) != 2 or statement is None or statement.type != "expression_statement":
        return None
    target = given[0]
    inner = field(target, "argument") if target.type == "pointer_expression" else target
    if inner is not None and inner.type == "subscript_expression" and inner != target:
        base, indices = field(inner, "argument"), field(inner, "indices")
        index = next(iter(indices.named_children), None) if indices is not None else None
    elif target.type == "binary_expression" and sight.content(target.children[1]) == "+":
        base, index = field(target, "left"), field(target, "right")
    else:
        return None
    if base is None or base.type != "identifier" or index is None:
        return None
    return sight.content(base), Addition(statement, call, target, index, given[1])


def _differs(sight: CudaSight, index: Node) -> bool:
    """Whether an index may differ between the threads of a block."""
    fixed = {one.name for one in sight.kernel.parameters if not one.is_pointer} | sight.file.constants.keys()
    names = (one for one in sight.names.behind(index) - fixed if one not in BUILT_IN)
    return any(not one.startswith(BUILT_IN) or one.startswith("threadIdx.") for one in names)


def _skip(sight: CudaSight, found: tuple[Addition, ...]) -> Node | Refusal | None:
    """The one early return ahead of the work, which all threads of a block pass from now on."""
    body = sight.kernel.body
    jumps = list(of_type(body, *_JUMPS))
    hiding = frozenset(macros_with(sight.file, ("return", "goto", "__trap", "exit")))
    hidden = _LEAVES.search(sight.content(body)) or next(named(sight.file.source, body, hiding), None)
    if hidden is not None or any(one.type != "return_statement" for one in jumps):
        return Refusal("A thread may leave the kernel where it is not seen.", body.start_point.row)
    if not jumps:
        return None
    skip = jumps[0].parent
    if skip is not None and skip.type == "compound_statement":
        skip = skip.parent
    condition = field(skip, "condition", "value")
    plain = (
        len(jumps) == 1
        and skip is not None
        and skip.type == "if_statement"
        and skip.parent == body
        and condition is not None
        and field(skip, "alternative") is None
        and skip.end_byte <= found[0].statement.start_byte
        and next(of_type(body, "preproc_call", "preproc_if", "preproc_ifdef", "preproc_def"), None) is None
    )
    if not plain:
        return Refusal(
            "A thread may return ahead of the end, where it has to wait for its block.", jumps[0].start_point.row
        )
    return skip


def _sized(
    sight: CudaSight, table: str, element: str, found: tuple[Addition, ...], skip: Node | None
) -> Bins | Refusal:
    """The table with as many bins as its indices can name, or as the workload's table has."""
    line, most = found[0].call.start_point.row, _SHARED // _BYTES[element]
    limits = [_limit(sight, one.index) for one in found]
    known = [one for one in limits if one is not None]
    if len(known) == len(limits) and max(known) <= most:
        size, sure = max(known), True
    else:
        given = sight.tensor(table)
        if given is None:
            return Refusal(
                f"Nothing says how many elements `{table}` has: no workload line passes a tensor for it.", line
            )
        size, sure = math.prod(given.shape), False
    if not 1 < size <= most:
        reason = f"`{table}` has {size} elements; up to {most} fit the shared memory of a block."
        return Refusal(reason, line)
    return Bins(table, element, found, size, _constant(sight, size), sure, skip)


def _limit(sight: CudaSight, index: Node) -> int | None:
    """What an index stays below, whatever the data: by the type of what it is read from, a mask or a remainder."""
    node = index
    while node.type in ("parenthesized_expression", "cast_expression", "identifier"):
        kind, name = field(node, "type"), sight.content(node)
        if node.type == "identifier" and name not in sight.names.values:
            return None
        written = type_of(sight, name) if node.type == "identifier" else sight.content(kind) if kind else "int"
        if _known(sight, written) in _SMALL:
            return _SMALL[_known(sight, written)]
        if _known(sight, written) not in _WIDE:
            return None
        node = sight.names.values[name] if node.type == "identifier" else field(node, "value") or node.named_children[0]
    sign, left, right = field(node, "operator"), field(node, "left"), field(node, "right")
    if node.type == "binary_expression" and sign is not None and left is not None and right is not None:
        number = sight.names.number(right)
        if sight.content(sign) == "&" and number is not None and number >= 0:
            return number + 1
        return None
    return _SMALL.get(_element(sight, node))


def _element(sight: CudaSight, node: Node) -> str:
    """The type of an element that is read, as it is known without its other name."""
    base = field(node, "argument") if node.type == "subscript_expression" else None
    parameter = sight.kernel.parameter(sight.content(base)) if base is not None else None
    return _known(sight, parameter.base) if parameter is not None and parameter.pointers == 1 else ""


def _known(sight: CudaSight, written: str) -> str:
    return sight.file.aliases.get(written, written)


def _constant(sight: CudaSight, size: int) -> str:
    """The file's name for the number of bins, where it has one ahead of the kernel."""
    before = sight.file.source.source[: sight.kernel.outer.start_byte].decode("utf-8", "replace")
    names = (name for name in sight.file.constants if _BIN.search(name) and re.search(rf"\b{name}\b", before))
    return next((name for name in names if sight.file.number(name) == size), str(size))


def _is_within(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def _written(sight: CudaSight, found: Bins, is_flat: bool) -> Patch:
    source, patch, body = sight.file.source, sight.patch(), sight.kernel.body
    unit, statements = unit_of(source, sight.kernel), statements_of(body)
    margin = indent_of(source, statements[0])
    own = fresh(sight.file, f"block_{found.table}", f"own_{found.table}")
    b = fresh(sight.file, "b", "bin", "bin_index")
    first, step = (
        ("threadIdx.y * blockDim.x + threadIdx.x", "blockDim.x * blockDim.y")
        if is_flat
        else ("threadIdx.x", "blockDim.x")
    )
    head = f"for (int {b} = {first}; {b} < {found.written}; {b} += {step})"
    opening = [
        f"__shared__ {found.element} {own}[{found.written}];",
        f"{head} {own}[{b}] = {_ZERO.get(found.element, '0')};",
        "__syncthreads();",
    ]
    closing = [
        "__syncthreads();",
        f"{head} {{",
        f"{unit}if ({own}[{b}] != 0) atomicAdd(&{found.table}[{b}], {own}[{b}]);",
        "}",
    ]
    patch.before(statements[0], "".join(f"{one}\n{margin}" for one in opening))
    changes = [change for one in found.additions for change in _counted(sight, found, one, own, unit)]
    end = "".join(f"\n{margin}{one}" for one in closing)
    if found.skip is None:
        for change in changes:
            patch.between(*change)
        patch.after(statements[-1], end)
        return patch
    condition = field(found.skip, "condition", "value")
    assert condition is not None
    opposite = " && ".join(Bound(one, True).code(source, {}) for one in joined(sight, condition, "||"))
    inner = indented(region(source, (found.skip.end_byte, statements[-1].end_byte), changes), margin + unit)
    lines = "\n".join([f"if ({opposite}) {{", *inner, f"{margin}}}"])
    return patch.between(found.skip.start_byte, statements[-1].end_byte, lines + end)


def _counted(sight: CudaSight, found: Bins, one: Addition, own: str, unit: str) -> list[Change]:
    """An addition to the block's own table, or to the whole one where the block's has no such element."""
    index, value = sight.content(one.index), sight.content(one.value)
    if found.sure:
        return [(one.target.start_byte, one.target.end_byte, f"&{own}[{index}]")]
    margin = indent_of(sight.file.source, one.statement)
    is_named = one.index.type == "identifier"
    at = index if is_named else fresh(sight.file, "slot", "slot_index")
    lines = [
        *([] if is_named else [f"const auto {at} = {index};"]),
        f"if (static_cast<unsigned long long>({at}) < {found.written}) {{",
        f"{unit}atomicAdd(&{own}[{at}], {value});",
        "} else {",
        f"{unit}atomicAdd(&{found.table}[{at}], {value});",
        "}",
    ]
    if not is_named or not _is_in_block(one.statement):
        lines = ["{", *indented(lines, unit), "}"]
    return [(one.statement.start_byte, one.statement.end_byte, f"\n{margin}".join(lines))]


def _is_in_block(statement: Node) -> bool:
    return statement.parent is not None and statement.parent.type == "compound_statement"
