"""An atomic addition of every thread to one place, as one of every block: warps fold their values by shuffles first."""

import textwrap
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, plain, unsettled
from kernelwright.micro.rewrite.cuda_guarded import Bound, X, statements_of, type_of
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.text import field, of_type
from kernelwright.values import Refusal

_ZERO = {"float": "0.0f", "double": "0.0", "int": "0", "unsigned": "0", "unsigned int": "0", "unsigned long long": "0"}
_WARP = 32


@dataclass(frozen=True, eq=False)
class _Addition:
    """The statement `atomicAdd(target, value);`, with the pointer's parameter and the condition around it."""

    statement: Node
    target: Node
    value: Node
    element: str
    outer: Node | None  # the `if` that it is the last statement of
    skip: Node | None  # the early return ahead of it


def added_once(sight: CudaSight) -> tuple[Patch, str] | Refusal:
    """The kernel with its atomic addition once a block, and what it adds to."""
    found = _addition(sight)
    if isinstance(found, Refusal):
        return found
    launch, line = sight.launch, found.statement.start_point.row
    if isinstance(launch, Refusal):
        return launch
    block = sight.block
    if block is None or any(size != 1 for size in block[1:]):
        return Refusal("The blocks have no size that is a number in this file, or more than one dimension.", line)
    size = block[0]
    if size & (size - 1) or not 2 * _WARP <= size <= _WARP * _WARP:
        return Refusal(f"The blocks have {size} threads; whole warps in a power of two are needed.", line)
    return _written(sight, found, size // _WARP), sight.content(found.target)


def _addition(sight: CudaSight) -> _Addition | Refusal:
    calls = [
        one
        for one in of_type(sight.kernel.body, "call_expression")
        if sight.content(one).startswith("atomic") and (called := field(one, "function")) is not None
        and sight.content(called) == "atomicAdd"
    ]  # fmt: skip
    if not calls:
        return Refusal("The kernel adds to nothing by an atomic of each thread.")
    statement, line = calls[0].parent, calls[0].start_point.row
    listed = field(calls[0], "arguments")
    given = [one for one in listed.named_children if one.type != "comment"] if listed is not None else []
    if len(calls) > 1 or len(given) != 2 or statement is None or statement.type != "expression_statement":
        return Refusal("The kernel has more than one atomic addition, or uses what one returns.", line)
    if "threadIdx" in " ".join(sight.names.behind(given[0])) or unsettled(sight.names, given[0]):
        return Refusal("The threads add to different elements.", line)
    pointers = [one for one in sight.kernel.parameters if one.name in sight.names.behind(given[0]) and one.is_pointer]
    if len(pointers) != 1 or pointers[0].base not in _ZERO or pointers[0].pointers != 1:
        return Refusal("What the threads add to is no plain number behind one pointer.", line)
    place = _place(sight, statement)
    if isinstance(place, Refusal):
        return place
    outer, skip = place
    return _Addition(statement, given[0], given[1], pointers[0].base, outer, skip)


def _place(sight: CudaSight, statement: Node) -> tuple[Node | None, Node | None] | Refusal:
    """The condition around the addition and the early return ahead of it, where all threads come to its place otherwise."""
    line, body = statement.start_point.row, sight.kernel.body
    top, outer = statement, None
    if statement.parent != body:
        outer = statement.parent
        if outer is not None and outer.type == "compound_statement":
            outer = outer.parent
        inside = field(outer, "consequence")
        if outer is None or outer.type != "if_statement" or inside is None or outer.parent != body:
            return Refusal("The addition is nested in more than one condition.", line)
        if field(outer, "alternative") is not None or statements_of(inside)[-1] != statement:
            return Refusal("Something follows the addition.", line)
        top = outer
        tested = field(outer, "condition", "value")
        if tested is not None and "==" in sight.content(tested) and X in sight.names.behind(tested):
            return Refusal("A thread of its own adds for the block already.", line)
    if statements_of(body)[-1] != top:
        return Refusal("Something follows the addition.", line)
    early = list(of_type(body, "return_statement"))
    if not early:
        return outer, None
    skip = early[0].parent
    if skip is not None and skip.type == "compound_statement":
        skip = skip.parent
    condition = field(skip, "condition", "value")
    if len(early) > 1 or skip is None or skip.parent != body or skip.type != "if_statement" or condition is None:
        return Refusal("A thread may return ahead of the addition.", early[0].start_point.row)
    if (
        outer is not None
        or field(skip, "alternative") is not None
        or next(of_type(body, "preproc_call"), None) is not None
    ):
        return Refusal("A thread may return ahead of the addition.", early[0].start_point.row)
    return None, skip


def _written(sight: CudaSight, found: _Addition, warps: int) -> Patch:
    source, patch = sight.file.source, sight.patch()
    margin = indent_of(source, statements_of(sight.kernel.body)[0])
    step = "\t" if "\t" in margin else "    "
    name, declared = _value(sight, found)
    partial = fresh(sight.file, "warp_sums", "partial_sums")
    thread = next((one for one, value in sight.names.values.items() if plain(source, value) == X), X)
    if found.outer is not None or found.skip is not None:
        thread = _thread_outside(sight, found, thread)
    folding = f"{name} += __shfl_down_sync"
    lines = [
        f"for (int offset = 16; offset > 0; offset >>= 1) {folding}(0xffffffff, {name}, offset);",
        f"__shared__ {found.element} {partial}[{warps}];",
        f"if ({thread} % 32 == 0) {partial}[{thread} / 32] = {name};",
        "__syncthreads();",
        f"if ({thread} < {warps}) {{",
        f"{step}{name} = {partial}[{thread}];",
        f"{step}for (int offset = {warps // 2}; offset > 0; offset >>= 1) {folding}({hex((1 << warps) - 1)}, {name}, offset);",
        f"{step}if ({thread} == 0) atomicAdd({sight.content(found.target)}, {name});",
        "}",
    ]
    folded = f"\n{margin}".join(lines)
    zero = f"{found.element} {name} = {_ZERO[found.element]};"
    set_value = f"{name} = {sight.content(found.value)};"
    if found.outer is not None:
        patch.before(found.outer, f"{zero}\n{margin}").replace(found.statement, set_value)
        patch.after(found.outer, f"\n{margin}{folded}")
    elif found.skip is not None:
        _wrap(sight, patch, found, f"{zero}\n{margin}", set_value, f"\n{margin}{folded}", step)
    elif declared:
        patch.replace(found.statement, f"{found.element} {name} = {sight.content(found.value)};\n{margin}{folded}")
    else:
        patch.replace(found.statement, folded)
    return patch


def _value(sight: CudaSight, found: _Addition) -> tuple[str, bool]:
    """The local to fold in: the value's own where it is one that nobody reads again, else a new one."""
    name = sight.content(found.value)
    own = found.value.type == "identifier" and found.outer is None and found.skip is None
    if own and type_of(sight, name) == found.element and name not in sight.names.values:
        return name, False
    return fresh(sight.file, "sum", "total", "block_sum"), True


def _thread_outside(sight: CudaSight, found: _Addition, thread: str) -> str:
    """The name of the thread's index where it is declared ahead of the condition."""
    first = found.outer or found.skip
    for one in of_type(sight.kernel.body, "init_declarator"):
        name = field(one, "declarator")
        if (
            name is not None
            and sight.content(name) == thread
            and first is not None
            and one.start_byte > first.start_byte
        ):
            return X
    return thread


def _wrap(sight: CudaSight, patch: Patch, found: _Addition, zero: str, value: str, folded: str, step: str) -> None:
    """`if (i >= n) return; …` becomes `if (i < n) { … }`."""
    source = sight.file.source
    assert found.skip is not None
    condition = field(found.skip, "condition", "value")
    assert condition is not None
    margin = indent_of(source, found.skip)
    inner = source.source[found.skip.end_byte : found.statement.start_byte].decode("utf-8", "replace") + value
    moved = textwrap.indent(textwrap.dedent(margin + inner.strip()), margin + step).rstrip()
    opposite = Bound(condition, True).code(source, {})
    patch.between(
        found.skip.start_byte, found.statement.end_byte, f"{zero}if ({opposite}) {{\n{moved}\n{margin}}}{folded}"
    )
