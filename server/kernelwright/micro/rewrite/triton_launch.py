"""The constants of a Triton launch: which of them choose only how the kernel runs, and where the text sets them."""

import ast
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.micro.rewrite.triton_source import (
    Fragment,
    integer,
    kernel_fragment,
    launcher_fragment,
    line_offset,
)
from kernelwright.source.bindings import bindings_of
from kernelwright.source.calls import bound, constexprs, defaults, parameters
from kernelwright.source.trees import statements, walk
from kernelwright.source.triton.reader import is_launch
from kernelwright.values import Kernel, Refusal

OPTIONS = {"num_warps": 4, "num_stages": 3}
"""Launch options with Triton's defaults on NVIDIA GPUs."""


@dataclass(frozen=True)
class Constant:
    """A number that chooses how the kernel runs, with the spans of the literals that hold it.

    `home` says where it is set: "launch", "local", "module", "parameter" or "kernel" (a default in a signature), or
    "absent" for a launch option left at its default, which has no spans.
    """

    name: str  # the kernel's name for it
    value: int
    home: str
    spans: tuple[tuple[int, int], ...] = ()
    variable: str = ""  # the launcher's name for it, when home is "local", "module" or "parameter"
    line: int = 0  # from 0, where it is set


@dataclass(frozen=True)
class Site:
    """A launch with all that a change of its constants has to know."""

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

    @property
    def definition(self) -> ast.FunctionDef:
        return self.kernel.function


def launch_site(text: str, kernel: Kernel) -> Site | Refusal:
    """The launch of `kernel`. Refused when it is not launched exactly once, or the text around it does not parse."""
    definition = kernel_fragment(text, kernel)
    if isinstance(definition, Refusal):
        return definition
    launcher = launcher_fragment(text, kernel)
    if isinstance(launcher, Refusal):
        return launcher
    return _site(text, kernel.name, definition, launcher)


@functools.lru_cache(maxsize=16)
def _site(text: str, kernel: str, definition: Fragment, launcher: Fragment) -> Site | Refusal:
    call = _launch_call(launcher.node, kernel)
    if call is None:
        return Refusal("The launch of this kernel could not be read.", line=launcher.node.lineno - 1)
    if any(isinstance(arg, ast.Starred) for arg in call.args) or any(k.arg is None for k in call.keywords):
        return Refusal("The launch passes arguments by * or **, so its constants cannot be told.", line=call.lineno - 1)
    misfit = _misfit(definition.function, call)
    if misfit:
        return Refusal(misfit, line=call.lineno - 1)
    function = _innermost_function(launcher.node, call)
    if function is None:
        return Refusal("The kernel is launched outside of any function.", line=call.lineno - 1)
    assert isinstance(call.func, ast.Subscript)
    grid, grid_statement = _resolve_grid(function, call.func.slice)
    reader = _Reader(text, definition, launcher, function, call, grid)
    return reader.site(grid_statement)


def _misfit(definition: ast.FunctionDef, call: ast.Call) -> str:
    """Why no call can bind these arguments, as in a file that is being typed; empty where one can."""
    names = [p.arg for p in parameters(definition)]
    if len(call.args) > len(names):
        return (
            f"The launch passes {len(call.args)} arguments, and the kernel takes {len(names)}: make them agree first."
        )
    twice = set(names[: len(call.args)]).intersection(keyword.arg for keyword in call.keywords)
    return f"The launch passes {min(twice)} by position and by name: pass it once." if twice else ""


def _launch_call(root: ast.AST, kernel: str) -> ast.Call | None:
    return next((node for node in walk(root) if isinstance(node, ast.Call) and is_launch(node, kernel)), None)


def _innermost_function(root: ast.AST, call: ast.Call) -> ast.FunctionDef | None:
    around = [
        node
        for node in walk(root)
        if isinstance(node, ast.FunctionDef) and node.lineno <= call.lineno <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno, default=None)


def _resolve_grid(function: ast.FunctionDef, grid: ast.expr) -> tuple[ast.expr | ast.FunctionDef, ast.stmt | None]:
    if not isinstance(grid, ast.Name):
        return grid, None
    for statement in statements(function.body):
        if isinstance(statement, ast.FunctionDef) and statement.name == grid.id:
            return statement, statement
        if isinstance(statement, ast.Assign) and [t.id for t in statement.targets if isinstance(t, ast.Name)] == [
            grid.id
        ]:
            return statement.value, statement
    return grid, None


@dataclass(frozen=True)
class _Reader:
    text: str
    kernel: Fragment
    launcher: Fragment
    function: ast.FunctionDef
    call: ast.Call
    grid: ast.expr | ast.FunctionDef

    def site(self, grid_statement: ast.stmt | None) -> Site:
        passed = bound(self.kernel.function, self.call)
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
        keyword = next((k for k in self.call.keywords if k.arg == name), None)
        if keyword is None:
            return Constant(name, default, "absent", line=self.call.lineno - 1)
        found = self._constant(name, keyword.value)
        return found if found is not None else f"{name} is computed (line {keyword.value.lineno})"

    def _tile(self, name: str, value: ast.expr | None) -> Constant | str | None:
        """The Constant of a block size; words for a block size that is not free; None for what is no block size."""
        if name not in self.kernel.reading.block_sizes:
            return None
        constant = self._constant(name, value) if value is not None else self._kernel_default(name)
        if constant is None:
            where = f" (line {value.lineno})" if value is not None else ""
            return f"{name} is computed{where}"
        copies = self._grid_copies(constant)
        if isinstance(copies, str):
            return copies
        follows = name in self.kernel.reading.steps
        if not (follows or copies or self._grid_mentions(constant)):
            return f"neither the grid nor a loop follows {name}"
        return Constant(
            constant.name, constant.value, constant.home, (*constant.spans, *copies), constant.variable, constant.line
        )

    def _constant(self, name: str, value: ast.expr) -> Constant | None:
        literal = integer(value)
        if literal is not None:
            return Constant(name, literal, "launch", (self.launcher.span(value),), line=value.lineno - 1)
        if not isinstance(value, ast.Name):
            return None
        return self._local(name, value.id) or self._module(name, value.id)

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
                and node.slice.value == constant.name
            ):
                return True
        return False

    def _grid_copies(self, constant: Constant) -> tuple[tuple[int, int], ...] | str:
        """Literals of the grid that repeat the block size; words when one is not the divisor of a cdiv."""
        if constant.home not in ("launch", "kernel") or constant.value < 16:
            return ()
        divisors = [
            node.args[1]
            for node in walk(self.grid)
            if isinstance(node, ast.Call) and self.launcher.called(node) == "triton.cdiv" and len(node.args) == 2
        ]
        literals = [node for node in walk(self.grid) if isinstance(node, ast.Constant)]
        copies = [node for node in literals if integer(node) in (constant.value, constant.value - 1)]
        if not copies:
            return ()
        if any(node not in divisors for node in copies) or self._shared_value(constant):
            return f"the grid holds its own copy of {constant.name} (line {copies[0].lineno})"
        return tuple(self.launcher.span(node) for node in copies)

    def _shared_value(self, constant: Constant) -> bool:
        """Whether another literal of the launch has the same value, so that a copy could be of either."""
        same = [k for k in self.call.keywords if integer(k.value) == constant.value]
        return len(same) > 1


def _lines_of(text: str, node: ast.FunctionDef | ast.ClassDef) -> tuple[int, int]:
    assert node.end_lineno is not None
    return line_offset(text, node.lineno - 1), line_offset(text, node.end_lineno)
