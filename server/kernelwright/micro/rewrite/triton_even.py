"""Loads and stores in the loops of a Triton kernel without the masks that hold everywhere where blocks come out even."""

import ast
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernelwright.micro.rewrite.triton_constants import replaced
from kernelwright.micro.rewrite.triton_flag import Flag, with_flags
from kernelwright.micro.rewrite.triton_launch import Site
from kernelwright.micro.rewrite.triton_source import Fragment, free_name, line_offset, names_in
from kernelwright.source.calls import constexprs
from kernelwright.source.trees import statements
from kernelwright.source.triton.even import Even, Part, Split, follows
from kernelwright.source.triton.reader import Access
from kernelwright.source.triton.scopes import Scopes
from kernelwright.values import Refusal, TextEdit

_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)
_SPOKEN = re.compile(r"even|divisible|aligned|no_?mask|need_?mask|padded", re.IGNORECASE)
_POSITIONS = {"load": ("mask", "other"), "store": ("mask",)}
_ONLY_BY_NAME = {"load": 3, "store": 3}  # arguments by position behind which nothing says more of the mask


@dataclass(frozen=True)
class Lighter:
    """A statement with accesses that lose conditions of their masks where `split` comes out even."""

    statement: ast.stmt
    split: Split
    edits: tuple[TextEdit, ...]


def lighter(kernel: Fragment) -> tuple[Lighter, ...] | Refusal:
    """The statements in loops of the kernel whose masks can be lighter, in order of the text."""
    spoken = next((name for name in constexprs(kernel.function) if _SPOKEN.search(name)), None)
    line = kernel.function.lineno - 1
    if spoken is not None:
        return Refusal(f"The kernel has a flag for even blocks already: {spoken}.", line=line)
    if not kernel.reading.loops:
        return Refusal("The kernel has no loop.", line=line)
    scopes = Scopes(kernel.function)
    even = Even(kernel.reading, scopes)
    masked: dict[ast.stmt, list[Access]] = {}
    for access in kernel.reading.loads_and_stores:
        statement = scopes.statement_of.get(access.call)
        if access.mask is not None and isinstance(statement, _SIMPLE) and scopes.loops_around(statement):
            masked.setdefault(statement, []).append(access)
    if not masked:
        return Refusal("No load in a loop of the kernel has a mask.", line=line)
    found = (_lighter(kernel, scopes, even, statement, accesses) for statement, accesses in masked.items())
    some = tuple(one for one in found if one is not None)
    if not any(access.kind == "load" for one in some for access in masked[one.statement]):
        return Refusal("No mask in a loop keeps out only what lies behind the last block of its range.", line=line)
    return tuple(sorted(some, key=lambda one: one.statement.lineno))


def with_even_blocks(site: Site, found: tuple[Lighter, ...]) -> str | Refusal:
    """The text with a flag for each split, and both forms of the statements under it."""
    kernel = site.kernel
    flags = _flags(kernel, found)
    edits = with_flags(site, tuple(flags.values()))
    if isinstance(edits, Refusal):
        return edits
    edits += [_branches(kernel, group, flags[group[0].split].name) for group in _groups(kernel, found)]
    return replaced(kernel.text, edits)


def _flags(kernel: Fragment, found: tuple[Lighter, ...]) -> Mapping[Split, Flag]:
    taken = names_in(kernel.function)
    flags: dict[Split, Flag] = {}
    for split in dict.fromkeys(one.split for one in found):
        name = free_name(f"EVEN_{split.size.upper()}", taken)
        taken.add(name)
        flags[split] = Flag(name, split)
    return flags


def _lighter(
    kernel: Fragment, scopes: Scopes, even: Even, statement: ast.stmt, accesses: list[Access]
) -> Lighter | None:
    """The statement by the innermost loop that lets it be lighter; None where no loop does, or a branch chooses already."""
    if not _stands_alone(kernel, statement):
        return None
    blocks = scopes.around[statement]
    for loop in scopes.loops_around(statement):
        inner = blocks[[block for block, _ in blocks].index(loop) + 1 :]
        if any(isinstance(block, ast.If) and (block.orelse or field == "orelse") for block, field in inner):
            return None
        masks = [(access, even.parts(access.mask, statement, loop)) for access in accesses if access.mask is not None]
        for split in dict.fromkeys(part.split for _, parts in masks for part in parts if part.split is not None):
            edits = [edit for access, parts in masks for edit in _edits(kernel, access, parts, split)]
            if edits:
                return Lighter(statement, split, tuple(edits))
    return None


def _edits(kernel: Fragment, access: Access, parts: tuple[Part, ...], split: Split) -> Iterator[TextEdit]:
    """The mask without the conditions that hold in even blocks; without any, it goes with what its lanes would hold."""
    call = access.call
    kept = [part for part in parts if part.split != split]
    positions = _POSITIONS[access.kind]
    if len(kept) == len(parts) or access.mask is None or not follows(kernel.reading, access.pointer, split.block):
        return
    if len(call.args) > _ONLY_BY_NAME[access.kind] or any(isinstance(arg, ast.Starred) for arg in call.args):
        return
    if kept:
        words = " & ".join(_as_operand(kernel, part.node, alone=len(kept) == 1) for part in kept)
        yield TextEdit(*kernel.span(access.mask), words)
        return
    by_position = call.args[1:] if access.kind == "load" else call.args[2:]
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    ends = [kernel.span(node)[1] for node in given]
    gone = [kernel.span(node) for node in given if node in by_position or getattr(node, "arg", None) in positions]
    for start, end in gone:
        before = max((one for one in ends if one <= start), default=None)
        if before is not None:
            yield TextEdit(before, end, "")


def _as_operand(kernel: Fragment, node: ast.expr, alone: bool) -> str:
    text = kernel.source(node)
    return text if alone or not isinstance(node, ast.Compare | ast.BoolOp | ast.IfExp) else f"({text})"


def _stands_alone(kernel: Fragment, statement: ast.stmt) -> bool:
    """Whether no other statement is on its lines."""
    start, end = kernel.span(statement)
    line_start, line_end = kernel.text.rfind("\n", 0, start) + 1, kernel.text.find("\n", end)
    rest = kernel.text[end : line_end if line_end >= 0 else len(kernel.text)].strip()
    return not kernel.text[line_start:start].strip() and (not rest or rest.startswith("#"))


def _groups(kernel: Fragment, found: tuple[Lighter, ...]) -> Iterator[list[Lighter]]:
    """Neighbours in a block go into one branch."""
    follower: dict[ast.stmt, ast.stmt] = {}
    for node in [kernel.function, *statements(kernel.function.body)]:
        for block in (getattr(node, field, None) or () for field in ("body", "orelse", "finalbody")):
            follower.update(itertools.pairwise(block))
    group: list[Lighter] = []
    for one in found:
        if group and (follower.get(group[-1].statement) is not one.statement or group[-1].split != one.split):
            yield group
            group = []
        group.append(one)
    yield group


def _branches(kernel: Fragment, group: list[Lighter], flag: str) -> TextEdit:
    first, last = group[0].statement, group[-1].statement
    assert last.end_lineno is not None
    start, end = line_offset(kernel.text, first.lineno - 1), line_offset(kernel.text, last.end_lineno)
    text = kernel.text[start:end]
    moved = [TextEdit(e.start - start, e.end - start, e.new_text) for one in group for e in one.edits]
    pad = " " * first.col_offset
    step = " " * (kernel.function.body[0].col_offset - kernel.function.col_offset)
    own = text if text.endswith("\n") else f"{text}\n"
    light, whole = _indented(replaced(own, moved), step), _indented(_without_comments(own), step)
    return TextEdit(start, end, f"{pad}if {flag}:\n{light}{pad}else:\n{whole}")


def _indented(text: str, step: str) -> str:
    return "".join(step + line if line.strip() else line for line in text.splitlines(keepends=True))


def _without_comments(text: str) -> str:
    """Without the lines that are comments, which the branch above has."""
    return "".join(
        line for line in text.splitlines(keepends=True) if line.strip() and not line.lstrip().startswith("#")
    )
