"""Has each program of a Triton kernel handle several rows: rows along axis 0 of its blocks, columns along axis 1."""

import ast
import re

from kernelwright.micro.rewrite.triton_constants import appended, replaced, value_edits, with_keywords
from kernelwright.micro.rewrite.triton_flag import constexpr_kind, is_plain, parameters_added
from kernelwright.micro.rewrite.triton_launch import Site, sole
from kernelwright.micro.rewrite.triton_rows import REDUCTIONS, Rows, kind_of
from kernelwright.micro.rewrite.triton_source import Fragment, free_name, integer, line_offset, names_in, names_read
from kernelwright.micro.rewrite.triton_versions import spelled
from kernelwright.source.bindings import bindings_of
from kernelwright.source.calls import argument, constexprs, defaults, parameters
from kernelwright.source.trees import statements, walk
from kernelwright.source.triton.reader import Access, is_absent
from kernelwright.values import Refusal, TextEdit


def with_several_rows(site: Site, rows: Rows, elements: int, warps: int | None = None) -> str | Refusal:
    """The text with as many rows a program as come to `elements`, at least one, and with this number of warps."""
    launch = _Launch.of(site, rows)
    if isinstance(launch, Refusal):
        return launch
    kernel = rows.kernel
    taken = names_in(site.definition)
    many, inside = free_name("ROWS", taken), free_name("rows_inside", taken)
    count = launch.parameter or free_name("n_rows", taken)
    edits = launch.edits(many, count, elements)
    if isinstance(edits, Refusal):
        return edits
    edits += value_edits(site, {"num_warps": warps} if warps is not None else {})
    kind = constexpr_kind(kernel)
    some = "= 1" if [*defaults(kernel.function)] else ""
    added = [] if launch.parameter else [f"{count}{'=1' if some else ''}"]
    edits.append(parameters_added(kernel, [*added, " ".join(filter(None, (f"{many}: {kind}", some)))]))
    edits += _ids(kernel, rows, many, f"{inside} = {{}} < {count}", taken)
    ends = (kernel.span(call)[1] for call in rows.lanes)
    edits += [TextEdit(end, end, "[None, :]") for end in ends]
    edits += [edit for call in rows.folds + rows.scans for edit in _along_columns(kernel, rows, call)]
    for shape, wide in rows.shapes:
        words = f"({many if wide else 1}, {kernel.source(shape.elts[0])})"
        edits.append(TextEdit(*kernel.span(shape), words))
    edits += [_guard(kernel, access, inside) for access in rows.guarded]
    tl = kernel.aliases.spelled("triton.language")
    if rows.starts and tl is None:
        return Refusal("The file does not import triton.language as a module, so no block of numbers can be written.")
    for number in rows.starts:
        words = f"{tl}.full(({many}, 1), {kernel.source(number)}, {tl}.{kind_of(number)})"
        edits.append(TextEdit(*kernel.span(number), words))
    return replaced(kernel.text, edits)


def _ids(kernel: Fragment, rows: Rows, many: str, inside: str, taken: set[str]) -> list[TextEdit]:
    """The program's rows in the place of its id, and which of them there are, below the first line that asks for it."""
    lanes = f"{kernel.source(rows.lanes[0].func)}(0, {many})[:, None]"
    first = next(one for one in kernel.function.body if rows.ids[0] in walk(one))
    own = f"{kernel.source(rows.ids[0])} * {many} + {lanes}"
    pad = " " * first.col_offset
    named = isinstance(first, ast.Assign) and len(first.targets) == 1 and isinstance(first.targets[0], ast.Name)
    if len(rows.ids) == 1 and named and isinstance(first, ast.Assign) and _holds(first.value, rows.ids[0]):
        assert isinstance(first.targets[0], ast.Name)
        start, end = kernel.span(rows.ids[0])
        below = kernel.span(first)[1]
        line_end = kernel.text.find("\n", below)
        at = line_end if line_end >= 0 else len(kernel.text)
        words = own if first.value is rows.ids[0] else f"({own})"
        return [TextEdit(start, end, words), TextEdit(at, at, f"\n{pad}{inside.format(spelled(first.targets[0].id))}")]
    name = free_name("rows", taken)
    at = line_offset(kernel.text, first.lineno - 1)
    lines = f"{pad}{name} = {own}\n{pad}{inside.format(name)}\n"
    return [TextEdit(at, at, lines), *(TextEdit(*kernel.span(call), name) for call in rows.ids)]


def _holds(value: ast.expr, call: ast.Call) -> bool:
    """Whether it is the call, or the call as another type."""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr="to")):
            return _holds(inner, call)
    return value is call


def _along_columns(kernel: Fragment, rows: Rows, call: ast.Call) -> list[TextEdit]:
    axis = argument(call, 1, "axis")
    kept = kernel.reading.tl(call) in REDUCTIONS
    words = "axis=1, keep_dims=True" if kept else "axis=1"
    keyword = next((one for one in call.keywords if one.arg == "axis"), None)
    if keyword is not None:
        return [TextEdit(*kernel.span(keyword), words)]
    if axis is not None:
        return [TextEdit(*kernel.span(axis), words)]
    end = kernel.span(call.args[0])[1]
    return [TextEdit(end, end, f", {words}")]


def _guard(kernel: Fragment, access: Access, inside: str) -> TextEdit:
    """The access for rows that there are."""
    if access.mask is not None and not is_absent(access.mask):
        text = kernel.source(access.mask)
        bare = isinstance(access.mask, ast.Name | ast.Call | ast.Subscript) or (
            isinstance(access.mask, ast.BinOp) and isinstance(access.mask.op, ast.BitAnd)
        )
        return TextEdit(*kernel.span(access.mask), f"{text if bare else f'({text})'} & {inside}")
    if access.mask is not None:
        return TextEdit(*kernel.span(access.mask), inside)
    given: list[ast.expr | ast.keyword] = [*access.call.args, *access.call.keywords]
    return appended(kernel.text, max((kernel.span(one) for one in given), key=lambda span: span[1]), [f"mask={inside}"])


class _Launch:
    """The launch of a kernel with a program for each row."""

    def __init__(self, site: Site, grid: ast.Tuple | ast.List, count: ast.expr, block: ast.expr | int) -> None:
        self._site, self._grid, self._count, self._block = site, grid, count, block
        self.parameter = next(
            (
                name
                for name, value in site.bound.items()
                if ast.dump(value) == ast.dump(count)
                and name not in constexprs(site.definition)
                and self._is_kept(name)
            ),
            None,
        )

    @staticmethod
    def of(site: Site, rows: Rows) -> "_Launch | Refusal":
        line = site.call.lineno - 1
        several = sole(site)
        if several is not None:
            return several
        if re.search(rf"(?<!def )(?<![\w.]){re.escape(site.definition.name)}\(", site.text):
            return Refusal("Another function calls the kernel, which has a row of its own.", line=line)
        arguments = site.definition.args
        if arguments.vararg is not None or arguments.kwarg is not None or arguments.kwonlyargs:
            return Refusal("The kernel takes parameters by a star, so none can be added.", line=line)
        grid = site.grid.body if isinstance(site.grid, ast.Lambda) else site.grid
        if not isinstance(grid, ast.Tuple | ast.List) or not grid.elts or not is_plain(grid.elts[0]):
            return Refusal("How many rows the grid has cannot be read from the launch.", line=line)
        if isinstance(site.grid, ast.Lambda) and names_read(grid.elts[0]) & {p.arg for p in parameters(site.grid)}:
            return Refusal("The grid follows a block size, so a program has no row of its own.", line=line)
        if site.grid_statement is not None and _reads(site) > 1:
            return Refusal("The grid is used for more than this launch.", line=site.grid_statement.lineno - 1)
        block = _block(site, rows.block)
        if block is None:
            return Refusal("How long a block is cannot be read from the launch.", line=line)
        return _Launch(site, grid, grid.elts[0], block)

    def edits(self, many: str, parameter: str, elements: int) -> list[TextEdit] | Refusal:
        site, launcher = self._site, self._site.launcher
        if many in names_in(site.function):
            return Refusal(f"The launcher has another variable called {many}.", line=site.call.lineno - 1)
        statement = _first(site)
        if statement is None:
            return Refusal("The launch stands in no statement of its own.", line=site.call.lineno - 1)
        if isinstance(self._block, int):
            size = str(max(elements // self._block, 1))
        else:
            known = {p.arg for p in parameters(site.function)}
            known |= {one.name for one in bindings_of(site.function) if one.value.lineno < statement.lineno}
            local = {one.name for one in bindings_of(site.function)}
            if names_read(self._block) & local - known:
                return Refusal("The grid is set before the block size is known.", line=statement.lineno - 1)
            words = " ".join(launcher.source(self._block).split())
            size = f"max({elements} // {words}, 1)"
        at = launcher.span(statement)[0]
        cdiv = f"{launcher.aliases.spelled('triton') or 'triton'}.cdiv"
        count = " ".join(launcher.source(self._count).split())
        passed = [] if self.parameter else [f"{parameter}={count}"]
        return [
            TextEdit(at, at, f"{many} = {size}\n{' ' * statement.col_offset}"),
            TextEdit(*launcher.span(self._count), f"{cdiv}({count}, {many})"),
            with_keywords(site, [*passed, f"{many}={many}"]),
        ]

    def _is_kept(self, name: str) -> bool:
        """Whether the kernel does not set the parameter anew."""
        return all(one.name != name for one in bindings_of(self._site.definition))


def _reads(site: Site) -> int:
    assert isinstance(site.call.func, ast.Subscript)
    name = site.call.func.slice
    assert isinstance(name, ast.Name)
    return sum(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id == name.id for n in walk(site.function))


def _first(site: Site) -> ast.stmt | None:
    """The first statement that has to know how many rows a program takes: the grid's, or that of the launch."""
    if site.grid_statement is not None:
        return site.grid_statement
    found = (
        one
        for one in statements(site.function.body)
        if isinstance(one, ast.Expr | ast.Assign | ast.Return)
        and one.lineno <= site.call.lineno <= (one.end_lineno or 0)
    )
    return next(found, None)


def _block(site: Site, block: ast.expr) -> ast.expr | int | None:
    """The length of a block as the launcher has it; None where something else chooses it."""
    if integer(block) is not None:
        return integer(block)
    if not isinstance(block, ast.Name):
        return None
    value = site.bound.get(block.id) or dict(defaults(site.definition)).get(block.id)
    if value is None or integer(value) is not None:
        return integer(value)
    match value:
        case ast.Call(args=[inner], keywords=[]) if site.launcher.called(value) == "triton.next_power_of_2":
            return value if is_plain(inner) else None
    return value if is_plain(value) and block.id in site.bound else None
