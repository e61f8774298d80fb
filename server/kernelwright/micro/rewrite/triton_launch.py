"""The constants of a Triton launch: which of them choose only how the kernel runs, and where the text sets them."""

import ast
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kernelwright.micro.rewrite.triton_grid import counts_in, of_own_axes, resolved
from kernelwright.micro.rewrite.triton_passed import Passed, holder, is_read, misfit, passed_by
from kernelwright.micro.rewrite.triton_setting import Place, Span, place_of
from kernelwright.micro.rewrite.triton_source import (
    Fragment,
    integer,
    kernel_fragment,
    launcher_fragment,
    line_offset,
    names_read,
)
from kernelwright.source.bindings import bindings_of
from kernelwright.source.calls import bound, constexprs, defaults, parameters
from kernelwright.source.trees import walk
from kernelwright.source.triton.masks import unmasked
from kernelwright.source.triton.reader import block_counted, is_launch
from kernelwright.values import Kernel, Refusal, TextEdit

OPTIONS = {"num_warps": 4, "num_stages": 3}
"""Launch options with Triton's defaults on NVIDIA GPUs."""


@dataclass(frozen=True)
class Constant:
    """A number that chooses how the kernel runs, with the spans of the literals that hold it.

    `home` says where it is set: "launch", "dictionary" (that the launch passes by **), "settings" (one that something else
    makes, under `key`), "local", "module", "parameter" or "kernel" (a default in a signature), or "absent" for a launch
    option left at its default, which has no spans. Where it is computed, the value is None, and the spans and forms are
    those of a `Place`; of settings it is what makes them.
    """

    name: str  # the kernel's name for it
    value: int | None
    home: str
    spans: tuple[Span, ...] = ()
    variable: str = ""  # the launcher's name for it, when home is "local", "module" or "parameter"
    line: int = 0  # from 0, where it is set
    forms: Mapping[Span, str] = field(default_factory=dict)
    along: tuple[TextEdit, ...] = ()
    key: str = ""


@dataclass(frozen=True)
class Site:
    """A launch with all that a change of its constants has to know.

    `twins` are the other launches in the same function: the constants are those that are free in all of them, at one value.
    """

    text: str
    kernel: Fragment
    launcher: Fragment
    function: ast.FunctionDef  # the innermost around the launch
    call: ast.Call
    grid: ast.expr | ast.FunctionDef  # resolved through a local name
    grid_statement: ast.stmt | None  # where that local name is set
    bound: Mapping[str, ast.expr]  # kernel parameter -> what the launch passes
    tiles: tuple[Constant, ...]
    options: tuple[Constant, ...]
    fixed: Mapping[str, str]  # constexpr or option -> why it is not free
    twins: tuple["Site", ...] = ()
    elsewhere: tuple[int, ...] = ()  # the lines (from 1) of launches in other functions

    @property
    def definition(self) -> ast.FunctionDef:
        return self.kernel.function


def launch_site(text: str, kernel: Kernel) -> Site | Refusal:
    """The launch of `kernel` in its entry. Refused when there is none, or the text around it does not parse."""
    definition = kernel_fragment(text, kernel)
    if isinstance(definition, Refusal):
        return definition
    launcher = launcher_fragment(text, kernel)
    if isinstance(launcher, Refusal):
        return launcher
    return _site(text, kernel.name, definition, launcher, tuple(launch.line + 1 for launch in kernel.launches))


def sole(site: Site) -> Refusal | None:
    """Why a change that every launch of the kernel would feel cannot be made; None where it is launched once."""
    others = (*(twin.call.lineno for twin in site.twins), *site.elsewhere)
    if not others:
        return None
    lines = ", ".join(map(str, sorted({site.call.lineno, *others})))
    return Refusal(f"The kernel is launched from several places (lines {lines}).", line=min(others) - 1)


@functools.lru_cache(maxsize=16)
def _site(text: str, kernel: str, definition: Fragment, launcher: Fragment, lines: tuple[int, ...]) -> Site | Refusal:
    sites = launched_in(text, kernel, definition, launcher)
    if isinstance(sites, Refusal):
        return sites
    within = range(launcher.node.lineno, (launcher.node.end_lineno or launcher.node.lineno) + 1)
    twins = tuple(one for one in sites[1:] if one.function is sites[0].function)
    apart = (one.call.lineno for one in sites[1:] if one not in twins)  # such as in a backward pass
    return together(sites[0], twins, (*(line for line in lines if line not in within), *apart))


def launched_in(text: str, kernel: str, definition: Fragment, launcher: Fragment) -> list[Site] | Refusal:
    """The launches in a function or class, in order of their lines; at least one."""
    calls = [node for node in walk(launcher.node) if isinstance(node, ast.Call) and is_launch(node, kernel)]
    if not calls:
        return Refusal("The launch of this kernel could not be read.", line=launcher.node.lineno - 1)
    sites: list[Site] = []
    for call in sorted(calls, key=lambda call: call.lineno):
        site = _launched(text, definition, launcher, call)
        if isinstance(site, Refusal):
            return site
        sites.append(site)
    return sites


def _launched(text: str, definition: Fragment, launcher: Fragment, call: ast.Call) -> Site | Refusal:
    wrong = misfit(definition.function, call)
    if wrong:
        return Refusal(wrong, line=call.lineno - 1)
    function = _innermost_function(launcher.node, call)
    if function is None:
        return Refusal("The kernel is launched outside of any function.", line=call.lineno - 1)
    assert isinstance(call.func, ast.Subscript)
    grid, grid_statement = resolved(function, call.func.slice)
    passed = passed_by(definition.function, function, call)
    return _Reader(text, definition, launcher, function, call, grid, passed).site(grid_statement)


def together(site: Site, twins: tuple[Site, ...], elsewhere: tuple[int, ...]) -> Site:
    """The launch with the others: what not all of them can have at one value is not free."""
    fixed = dict(site.fixed)
    free: list[Constant] = []
    for constant in (*site.tiles, *site.options):
        others = [one for twin in twins for one in (*twin.tiles, *twin.options) if one.name == constant.name]
        if any(constant.name in twin.fixed for twin in twins):
            fixed[constant.name] = next(twin.fixed[constant.name] for twin in twins if constant.name in twin.fixed)
        elif len(others) < len(twins) or any(one.value != constant.value for one in others):
            lines = ", ".join(str(one.call.lineno) for one in (site, *twins))
            fixed[constant.name] = f"the launches on lines {lines} differ in {constant.name}"
        elif constant.home == "kernel" and elsewhere:
            fixed[constant.name] = f"the launch on line {elsewhere[0]} takes the default of {constant.name}, too"
        else:
            free.append(constant)
    tiles = tuple(one for one in free if one in site.tiles)
    options = tuple(one for one in free if one in site.options)
    return replace(site, tiles=tiles, options=options, fixed=fixed, twins=twins, elsewhere=elsewhere)


def _innermost_function(root: ast.AST, call: ast.Call) -> ast.FunctionDef | None:
    around = [
        node
        for node in walk(root)
        if isinstance(node, ast.FunctionDef) and node.lineno <= call.lineno <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno, default=None)


@dataclass(frozen=True)
class _Reader:
    text: str
    kernel: Fragment
    launcher: Fragment
    function: ast.FunctionDef
    call: ast.Call
    grid: ast.expr | ast.FunctionDef
    given: Passed

    @property
    def _passed(self) -> dict[str, ast.expr]:
        """What the launch passes to each parameter."""
        known = {p.arg for p in parameters(self.kernel.function)}
        named = {name: value for name, value in self.given.named.items() if name in known}
        return {**bound(self.kernel.function, self.call), **self.given.tail, **named}

    def site(self, grid_statement: ast.stmt | None) -> Site:
        passed = self._passed
        tiles: list[Constant] = []
        fixed: dict[str, str] = {}
        for name in constexprs(self.kernel.function):
            found = self._tile(name, passed.get(name))
            if isinstance(found, Constant):
                tiles.append(found)
            elif found:
                fixed[name] = found
        options: list[Constant] = []
        for name, default in OPTIONS.items():
            option = self._option(name, default)
            if isinstance(option, Constant):
                options.append(option)
            else:
                fixed[name] = option
        return Site(
            self.text,
            self.kernel,
            self.launcher,
            self.function,
            self.call,
            self.grid,
            grid_statement,
            passed,
            tuple(tiles),
            tuple(options),
            fixed,
        )

    def _option(self, name: str, default: int) -> Constant | str:
        value = self.given.named.get(name)
        if value is None and not self.given.unread:
            return Constant(name, default, "absent", line=self.call.lineno - 1)
        setting = self._setting(name, value)
        if value is None:
            return setting or f"{name} {self.given.unread}"
        return self._constant(name, value) or setting or self._computed_option(name, value)

    def _setting(self, name: str, value: ast.expr | None) -> Constant | None:
        """A constant that comes from settings which something makes for this launcher alone."""
        made = self.given.settings.get(holder(value)) if value is not None else self.given.unpacked
        if made is None:
            return None
        key = value.slice.value if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant) else name
        return Constant(name, None, "settings", (self.launcher.span(made),), line=made.lineno - 1, key=str(key))

    def _tile(self, name: str, value: ast.expr | None) -> Constant | str | None:
        """The Constant of a block size; words for a block size that is not free; None for what is no block size."""
        if name not in self.kernel.reading.block_sizes:
            return None
        if value is None:
            hidden = self.given.behind_star.get(name) or self.given.unread
            if hidden and (name in self.given.behind_star or self.given.unpacked is None):
                return f"{name} {hidden}"
        constant = self._constant(name, value) if value is not None else self._kernel_default(name)
        if constant is None or (value is None and self.given.unpacked is not None):
            found = self._computed_tile(name, value)
            if isinstance(found, str):
                return found
            constant = found
        copies = self._grid_copies(constant)
        if isinstance(copies, str):
            return copies
        follows = name in self.kernel.reading.steps
        if not (follows or copies or self._grid_mentions(constant)):
            return f"neither the grid nor a loop follows {name}"
        return replace(constant, spans=(*constant.spans, *copies))

    def _constant(self, name: str, value: ast.expr) -> Constant | None:
        literal = integer(value)
        if literal is not None:
            return Constant(name, literal, self._home(name), (self.launcher.span(value),), line=value.lineno - 1)
        if not isinstance(value, ast.Name):
            return None
        return self._local(name, value.id) or self._module(name, value.id)

    def _home(self, name: str) -> str:
        return "dictionary" if name in self.given.listed else "launch"

    def _computed_option(self, name: str, value: ast.expr) -> Constant | str:
        """An option for which a number can stand at the launch, whatever computes it."""
        where = self._set_by_others(value)
        if where:
            return f"{name} {where}"
        for parameter, passed in self._passed.items():
            if isinstance(value, ast.Name) and value.id in names_read(passed):
                return f"{name} is passed as {parameter}, too (line {passed.lineno})"
        return Constant(name, None, self._home(name), (self.launcher.span(value),), line=value.lineno - 1)

    def _computed_tile(self, name: str, value: ast.expr | None) -> Constant | str:
        """A block size for which a number can stand where it is computed: at the launch, for a local name, or in settings."""
        constant: Constant | str = self._setting(name, value) or self._placed(name, value)
        if isinstance(constant, str):
            return constant
        open_at = unmasked(self.kernel.reading).get(name)
        if open_at is not None:
            return f"{name} is computed (line {constant.line + 1}), and line {open_at} reaches its lanes without a mask"
        return constant

    def _placed(self, name: str, value: ast.expr | None) -> Constant | str:
        if value is None:
            return f"{name} is computed"
        where = self._set_by_others(value)
        if where:
            return f"{name} {where}"
        if not isinstance(value, ast.Name):
            return Constant(name, None, self._home(name), (self.launcher.span(value),), line=value.lineno - 1)
        if not any(one.name == value.id for one in bindings_of(self.function)):
            return f"{name} is set outside of the launcher (line {value.lineno})"
        place = place_of(self.launcher, self.function, value.id, self._constant_names())
        if not isinstance(place, Place):
            return f"{name} is computed {place}"
        return Constant(name, None, "local", place.spans, value.id, place.line, place.forms, place.along)

    def _constant_names(self) -> frozenset[str]:
        """The launcher's names for what the launch passes as block sizes and options."""
        passed = {**self._passed, **self.given.named}
        named = ((name, value.id) for name, value in passed.items() if isinstance(value, ast.Name))
        return frozenset(id for name, id in named if name in (*self.kernel.reading.block_sizes, *OPTIONS))

    def _set_by_others(self, value: ast.expr) -> str:
        """Words for a value that callers or a table of settings choose, which a number must not stand in for."""
        line = value.lineno
        if isinstance(value, ast.Name):
            if value.id in {p.arg for p in parameters(self.function)}:
                return f"is a parameter of the launcher, which callers may set (line {line})"
            values = [one.value for one in bindings_of(self.function) if one.name == value.id]
            read = next((one for one in values if is_read(one)), None)
        else:
            read = value if is_read(value) else None
        return f"is read from {ast.unparse(read)} (line {read.lineno})" if read is not None else ""

    def _local(self, name: str, variable: str) -> Constant | None:
        found = [("parameter", value) for name, value in defaults(self.function) if name == variable]
        found += [("local", one.value) for one in bindings_of(self.function) if one.name == variable]
        if len(found) != 1:
            return None
        home, literal = found[0]
        number = integer(literal)
        if number is None:
            return None
        return Constant(name, number, home, (self.launcher.span(literal),), variable, literal.lineno - 1)

    def _module(self, name: str, variable: str) -> Constant | None:
        """A constant at top level that nothing but this launcher uses."""
        given = {one.name for one in bindings_of(self.function)} | {p.arg for p in parameters(self.function)}
        if variable in given:
            return None
        setting = re.compile(
            rf"^{re.escape(variable)}[ \t]*(?::[^=\n]*)?=[ \t]*(\d[\d_]*)[ \t]*(?:#.*)?\r?$", re.MULTILINE
        )
        found = list(setting.finditer(self.text))
        if len(found) != 1:
            return None
        own = [_lines_of(self.text, node) for node in (self.kernel.node, self.function)]
        own.append((found[0].start(), found[0].end()))
        for use in re.finditer(rf"\b{re.escape(variable)}\b", self.text):
            if not any(start <= use.start() < end for start, end in own):
                return None
        line = self.text.count("\n", 0, found[0].start())
        return Constant(name, int(found[0].group(1)), "module", (found[0].span(1),), variable, line)

    def _kernel_default(self, name: str) -> Constant | None:
        default = dict(defaults(self.kernel.function)).get(name)
        number = integer(default)
        if default is None or number is None:
            return None
        return Constant(name, number, "kernel", (self.kernel.span(default),), line=default.lineno - 1)

    def _grid_mentions(self, constant: Constant) -> bool:
        for node in walk(self.grid):
            if isinstance(node, ast.Name) and constant.variable and node.id == constant.variable:
                return True
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.slice, ast.Constant)
                and node.slice.value in (constant.name, constant.key)
            ):
                return True
        counts = counts_in(self.launcher, self.function, self.grid).values()
        counted = [block_counted(one.value, self.launcher.aliases) for one in counts] if constant.variable else []
        return any(isinstance(block, ast.Name) and block.id == constant.variable for block in counted)

    def _grid_copies(self, constant: Constant) -> tuple[tuple[int, int], ...] | str:
        """Literals of the grid that repeat the block size; words when one is not the divisor of a cdiv."""
        if constant.home not in ("launch", "dictionary", "kernel") or constant.value is None or constant.value < 16:
            return ()
        divisors = [
            node.args[1]
            for node in walk(self.grid)
            if isinstance(node, ast.Call) and self.launcher.called(node) == "triton.cdiv" and len(node.args) == 2
        ]
        literals = [node for node in walk(self.grid) if isinstance(node, ast.Constant)]
        alike = [node for node in literals if integer(node) in (constant.value, constant.value - 1)]
        copies = of_own_axes(self.kernel.reading, self.grid, constant.name, alike)
        if alike and copies is None and self._shared_value(constant):
            return f"the grid holds its own copy of {constant.name} (line {alike[0].lineno})"
        copies = alike if copies is None else copies
        if any(node not in divisors for node in copies):
            return f"the grid holds its own copy of {constant.name} (line {copies[0].lineno})"
        return tuple(self.launcher.span(node) for node in copies)

    def _shared_value(self, constant: Constant) -> bool:
        """Whether another literal of the launch has the same value, so that a copy could be of either."""
        same = [value for value in self.given.named.values() if integer(value) == constant.value]
        return len(same) > 1


def _lines_of(text: str, node: ast.FunctionDef | ast.ClassDef) -> tuple[int, int]:
    assert node.end_lineno is not None
    return line_offset(text, node.lineno - 1), line_offset(text, node.end_lineno)
