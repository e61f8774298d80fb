"""A row that fits one block: the passes over it become straight-line code that loads it once into registers."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelwright.micro.rewrite.relies import refusal
from kernelwright.micro.rewrite.syntax import Syntax, expanded, rebuilt, same, written
from kernelwright.micro.rewrite.triton_constants import replaced
from kernelwright.micro.rewrite.triton_launch import Constant, Site, sole
from kernelwright.micro.rewrite.triton_passes import (
    Pass,
    Run,
    initial,
    is_minus_infinity,
    loads,
    reduction,
    same_but_other,
    where_zero,
)
from kernelwright.micro.rewrite.triton_source import Fragment, assigned_names, line_offset, names_in, names_read
from kernelwright.schedule.limits import MOST_IN_A_BLOCK
from kernelwright.source.bindings import bindings_of
from kernelwright.source.calls import argument, parameters
from kernelwright.source.trees import statements, walk
from kernelwright.values import Refusal, TextEdit

WARPS = ("min(max({block} // 1024, 4), 16)", "min(max({block} // 256, 4), 32)")
"""32 or 8 elements a thread over a wide range of rows: fewer threads to synchronise, or more loads in flight."""

LONGEST = f"2**{MOST_IN_A_BLOCK.bit_length() - 1}"
"""Elements of the longest row that fits a block, as an expression. The loop takes any row, so the launcher refuses others."""

_ORDINAL = re.compile(r"(# )(?:(?:First|Second|Third|Fourth) pass|[Pp]ass \d)[:,] (\w)")
_PLURAL = re.compile(r"\b(?:two|three|four|[234])[ -]pass(?:es)?\b")


def with_one_block(site: Site, run: Run, warps: str = WARPS[0]) -> str | Refusal:
    """The text with the loops gone and the block as long as the row."""
    fragment = site.kernel
    for one in run.passes:
        if _reads_masked_lanes_anew(fragment, one, run.passes[0]):
            return Refusal(f"The loop on line {one.line + 1} fills masked lanes differently.", line=one.line)
    writing = next((one for one in run.passes[:-1] if one.stores), None)
    if writing is not None:
        return Refusal(f"The loop on line {writing.line + 1} writes what a later one may read.", line=writing.line)
    several = sole(site)
    launch = several or _launch_edits(site, run, warps)
    if isinstance(launch, Refusal):
        return launch
    text = fragment.text
    registers = _Registers()
    edits = list(launch)
    reached = run.index(0)
    for number, one in enumerate(run.passes):
        assert one.loop.end_lineno is not None
        for statement in run.block[reached : run.index(number)]:
            for name in assigned_names(statement):
                registers.assign(name, None)
        reached = run.index(number) + 1
        start, end = line_offset(text, one.loop.lineno - 1), line_offset(text, one.loop.end_lineno)
        edits.append(TextEdit(start, end, _straight(fragment, run, one, registers)))
    edits += _uncounted(fragment)
    edits += [_removal(text, statement) for statement in _needless_starts(fragment, run)]
    return replaced(text, edits)


@dataclass
class _Registers:
    """What the straight-line code has computed so far: the value of each name, and names that others stand for."""

    known: dict[str, ast.expr] = field(default_factory=dict)
    twins: dict[str, str] = field(default_factory=dict)

    def assign(self, name: str, value: ast.expr | None) -> None:
        """`name` is set: what was computed from its old value is no longer known."""
        self.known = {k: v for k, v in self.known.items() if k != name and name not in names_read(v)}
        self.twins = {k: v for k, v in self.twins.items() if name not in (k, v)}
        if value is not None and name not in names_read(value):
            self.known[name] = value

    def holder(self, name: str, value: ast.expr) -> str | None:
        """A name that holds `value` already, `name` itself first."""
        if name in self.known and same_but_other(self.known[name], value):
            return name
        return next((k for k, v in self.known.items() if same_but_other(v, value)), None)


def _uncounted(fragment: Fragment) -> list[TextEdit]:
    """Comments and the docstring stop counting passes: there is one."""
    node, text = fragment.node, fragment.text
    assert node.end_lineno is not None
    docstring = node.body[0] if ast.get_docstring(node) is not None else None
    edits: list[TextEdit] = []
    loops = [s for s in walk(node) if isinstance(s, ast.For)]
    for number, line in enumerate(text.splitlines(keepends=True)):
        in_docstring = docstring is not None and docstring.lineno <= number + 1 <= (docstring.end_lineno or 0)
        in_comment = node.lineno <= number < node.end_lineno and line.lstrip().startswith("#")
        if not (in_docstring or in_comment) or any(s.lineno <= number + 1 <= (s.end_lineno or 0) for s in loops):
            continue
        new = re.sub(_ORDINAL, lambda m: m[1] + m[2].upper(), re.sub(_PLURAL, "one pass", line))
        if new != line:
            at = line_offset(text, number)
            edits.append(TextEdit(at, at + len(line), new))
    return edits


def _straight(fragment: Fragment, run: Run, one: Pass, registers: _Registers) -> str:
    """One loop's body at start 0, without what an earlier one has already computed."""
    lines = fragment.text.splitlines(keepends=True)
    shift = one.loop.body[0].col_offset - one.loop.col_offset
    indent = " " * one.loop.col_offset
    values: dict[str, ast.expr] = {one.variable: ast.Constant(0)}
    out: list[str] = []
    updates = {id(update.statement): update for update in one.updates}
    previous = one.loop.lineno
    for statement in one.loop.body:
        comments = [line for line in lines[previous : statement.lineno - 1] if line.strip()]
        previous = statement.end_lineno or statement.lineno
        target = _assigned(statement)
        update = updates.get(id(statement))
        twins = dict(registers.twins)
        if update is not None:
            registers.assign(update.name, None)
        elif target is not None and isinstance(statement, ast.Assign):
            value = expanded(statement.value, values)
            values[target] = value
            holder = registers.holder(target, value)
            if holder is not None:
                registers.twins.pop(target, None)
                if holder != target:
                    registers.twins[target] = holder
                continue
            registers.assign(target, value)
        out += [_dedented(line, shift) for line in comments]
        if update is not None and _starts_empty(fragment, run, update.name, update.op):
            out.append(f"{indent}{update.name} = {written(_plain(update.raw, one.variable, twins))}\n")
        elif names_read(statement) & {one.variable, *twins}:
            out.append(f"{indent}{written(_plain(statement, one.variable, twins))}\n")
        else:
            out += [_dedented(line, shift) for line in lines[statement.lineno - 1 : previous]]
    return "".join(out)


def _dedented(line: str, shift: int) -> str:
    """`line` with `shift` blanks less, or as many as it has: a comment may stand further to the left."""
    return line[min(shift, len(line) - len(line.lstrip(" \t"))) :]


def _assigned(statement: ast.stmt) -> str | None:
    names = assigned_names(statement)
    return next(iter(names)) if len(names) == 1 else None


def _reads_masked_lanes_anew(fragment: Fragment, one: Pass, first: Pass) -> bool:
    """Whether `one` gathers from a load that differs from the first pass's only in what masked lanes hold."""
    if one is first or not one.updates:
        return False
    here = [
        load
        for update in one.updates
        if not _protected(fragment, update.value)
        for load in loads(fragment, update.value)
    ]
    there = [load for value in first.values.values() for load in loads(fragment, value)]
    for load in here:
        twins = [twin for twin in there if same_but_other(load, twin)]
        if twins and argument(load, 2, "other") is not None and not any(same(load, twin) for twin in twins):
            return True
    return False


def _protected(fragment: Fragment, value: ast.expr) -> bool:
    """Whether a gathered value is 0 in masked lanes whatever they hold."""
    call = reduction(fragment, value, "sum")
    return where_zero(fragment, call.args[0] if call is not None else value) is not None


def _start_statement(run: Run, name: str) -> ast.Assign | None:
    """The assignment that an accumulator starts from; None when that is not one plain statement of the block."""
    found = [s for s in run.block if name in assigned_names(s) and isinstance(s, ast.Assign)]
    own = next(i for i, one in enumerate(run.passes) if any(u.name == name for u in one.updates))
    before = [s for s in found if run.block.index(s) < run.index(own)]
    return before[-1] if before else None


def _starts_empty(fragment: Fragment, run: Run, name: str, op: str) -> bool:
    """Whether the accumulator starts from what changes nothing: 0 for a sum, -inf for a maximum."""
    statement = _start_statement(run, name)
    if statement is None:
        return False
    value = initial(fragment, statement.value)
    if op == "max":
        return is_minus_infinity(value)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float) and value.value == 0


def _needless_starts(fragment: Fragment, run: Run) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for one in run.passes:
        for update in one.updates:
            statement = _start_statement(run, update.name)
            if statement is not None and _starts_empty(fragment, run, update.name, update.op):
                found.append(statement)
    return found


def _removal(text: str, statement: ast.stmt) -> TextEdit:
    assert statement.end_lineno is not None
    return TextEdit(line_offset(text, statement.lineno - 1), line_offset(text, statement.end_lineno), "")


def _launch_edits(site: Site, run: Run, wanted: str) -> list[TextEdit] | Refusal:
    """The block as long as the row, and warps that follow it."""
    bounds = run.bounds
    line = site.call.lineno - 1
    if len(bounds) != 3 or written(bounds[0]) != "0" or not isinstance(bounds[2], ast.Name):
        return Refusal("Only a loop over range(0, N, BLOCK) can become one block.", line=run.passes[0].line)
    tile = next((t for t in site.tiles if t.name == bounds[2].id), None)
    length = site.bound.get(written(bounds[1])) if isinstance(bounds[1], ast.Name) else None
    if tile is None or length is None:
        return Refusal("The launch does not set the block size and the row length plainly.", line=line)
    if tile.home not in ("launch", "local") or len(tile.spans) != 1:
        return Refusal(f"{tile.name} is set outside of the launcher's body.", line=tile.line)
    if tile.variable and any(isinstance(n, ast.Name) and n.id == tile.variable for n in walk(site.grid)):
        return Refusal(f"The grid follows {tile.name}, so a program has more than one row's share.", line=line)
    size = f"{site.launcher.aliases.spelled('triton') or 'triton'}.next_power_of_2({written(length)})"
    block = _block_name(site, tile, length)
    if not block:
        return Refusal(f"{tile.name} is set before the row length is known.", line=tile.line)
    warps, warps_edits = _warps(site, wanted.format(block=block))
    added = [f"{block} = {size}"] if tile.home == "launch" else []
    words = f"{site.function.name} takes rows of at most {LONGEST} elements"
    edits = [TextEdit(*tile.spans[0], size if tile.home == "local" else block), *warps_edits]
    statement = next(
        s
        for s in statements(site.function.body)
        if isinstance(s, ast.Expr | ast.Assign | ast.Return) and s.lineno <= site.call.lineno <= (s.end_lineno or 0)
    )
    at = site.launcher.span(statement)[0]
    indent = " " * statement.col_offset
    added += refusal([f"{block} > {LONGEST}"], words, statement.col_offset)
    added += [f"num_warps = {warps}"] if warps else []
    edits.append(TextEdit(at, at, "".join(f"{line}\n{indent}" for line in added)))
    return edits


def _block_name(site: Site, tile: Constant, length: ast.expr) -> str:
    """The launcher's variable for the block; empty when it is set before the row length is known."""
    if tile.home == "launch":
        return tile.name if tile.name not in names_in(site.function) else f"{tile.name}_"
    known = {p.arg for p in parameters(site.function)}
    known |= {one.name for one in bindings_of(site.function) if one.value.lineno - 1 < tile.line}
    return tile.variable if names_read(length) <= known else ""


def _warps(site: Site, value: str) -> tuple[str, list[TextEdit]]:
    """The expression for a new variable num_warps, empty where none is needed, and the edits of the launch."""
    option = next((option for option in site.options if option.name == "num_warps"), None)
    if option is None or option.home not in ("absent", "launch"):
        return "", []  # computed already, or the user's own variable
    variable, used = ("num_warps", value) if "num_warps" not in names_in(site.function) else (value, "")
    if option.home == "launch":
        return used, [TextEdit(*option.spans[0], variable)]
    arguments: list[ast.expr | ast.keyword] = [*site.call.args, *site.call.keywords]
    end = max(site.launcher.span(node)[1] for node in arguments)
    return used, [TextEdit(end, end, f", num_warps={variable}")]


def _plain(node: Syntax, variable: str, twins: Mapping[str, str]) -> Syntax:
    """`node` with the loop variable at 0, sums and products with that 0 worked out, and twins by the name that stays."""
    values = {old: ast.Name(new, ast.Load()) for old, new in twins.items()} | {variable: ast.Constant(0)}
    return rebuilt(expanded(node, values), lambda part: None, _folded)


def _folded(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.BinOp):
        return None
    if isinstance(node.op, ast.Add) and _is_zero(node.left):
        return node.right
    if isinstance(node.op, ast.Add | ast.Sub) and _is_zero(node.right):
        return node.left
    if isinstance(node.op, ast.Mult) and (_is_zero(node.left) or _is_zero(node.right)):
        return ast.Constant(0)
    return None


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == 0
