"""Which statements of a text ran, and how often its loops turned: where it is asked for, a text is loaded with probes in it.

Triton's interpreter runs a kernel as Python of its own making, into which the same probes are put. A probe takes some 0.1 us.
"""

import ast
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, MappingProxyType
from typing import Any

_RAN, _TURNS = "_kernelwright_ran", "_kernelwright_turns"
_SAME_LINE = 1 << 20
Loop = ast.For | ast.AsyncFor | ast.While


@dataclass(frozen=True)
class Ran:
    """What ran, by the word of the process that ran it: numbers of statements, loops with the most turns that one took.

    `launched`: kernels that were launched, where they are compiled or emulated. `remarks`: what may explain wrong values.
    """

    lines: tuple[int, ...] = ()
    turns: tuple[tuple[int, int], ...] = ()
    launched: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __or__(self, other: "Ran") -> "Ran":
        turns = Counter(dict(self.turns)) | Counter(dict(other.turns))
        both = lambda one, another: tuple({*one, *another})
        return Ran(
            both(self.lines, other.lines),
            tuple(turns.items()),
            both(self.launched, other.launched),
            (*self.remarks, *other.remarks)[:1],
        )


NOTHING = Ran()


class _Probes:
    """What has run since the last time that somebody asked."""

    def __init__(self) -> None:
        self.lines: set[int] = set()
        self.launched: set[str] = set()
        self.remarks: list[str] = []
        self.most: dict[int, int] = {}
        self._now: dict[int, int] = {}

    def turns(self, loop: int, begins: bool = False) -> None:
        self._now[loop] = turns = 0 if begins else self._now[loop] + 1
        self.most[loop] = max(turns, self.most.get(loop, 0))


_probes: _Probes | None = None


def watch() -> None:
    """From here on this process loads texts with probes in them."""
    global _probes
    _probes = _Probes()


def taken() -> Ran:
    """What has run since the last call; nothing where nobody watches."""
    if _probes is None:
        return NOTHING
    found = Ran(tuple(_probes.lines), tuple(_probes.most.items()), tuple(_probes.launched), tuple(_probes.remarks[:1]))
    for one in (_probes.lines, _probes.most, _probes.launched, _probes.remarks):
        one.clear()
    return found


def is_watching() -> bool:
    """Whether texts are watched in this process."""
    return _probes is not None


def note(
    lines: Iterable[int] = (),
    turns: Mapping[int, int] = MappingProxyType({}),
    launched: Iterable[str] = (),
    remarks: Iterable[str] = (),
) -> None:
    """Take down what a language that counts for itself has seen."""
    if _probes is None:
        return
    _probes.lines.update(lines)
    _probes.launched.update(launched)
    _probes.remarks += remarks
    for loop, count in turns.items():
        _probes.most[loop] = max(count, _probes.most.get(loop, 0))


def compiled(text: str, file: str, scope: dict[str, Any]) -> CodeType:
    """The code of a module whose globals are `scope`, with probes where they are asked for."""
    if _probes is None:
        return compile(text, file, "exec", dont_inherit=True)
    scope |= {_RAN: _probes.lines.add, _TURNS: _probes.turns}
    return compile(_probed(ast.parse(text)), file, "exec", dont_inherit=True)


def look_at_kernels(file: str) -> None:
    """Put probes into the kernels of a loaded file that the interpreter runs, or take note of their launches on a GPU.

    Those of what lies in folders beside it are the kernels of the text's other pages.

    Of a kernel in CuTe DSL the launch is noted when it is compiled, which is once in each process.
    """
    folder = os.path.join(os.path.dirname(file) or os.devnull, "")
    probes, interpreter, jit = _probes, *(sys.modules.get(f"triton.runtime.{name}") for name in ("interpreter", "jit"))
    cute = getattr(sys.modules.get("cutlass.cutlass_dsl.cutlass"), "KernelLauncher", None)
    if probes is None:
        return
    if interpreter is not None:
        transform = interpreter.FunctionRewriter._transform_ast

        def with_probes(self: Any, source: str) -> Any:
            tree = transform(self, source)
            return _probed(tree) if self.filename.startswith(folder) else tree

        interpreter.FunctionRewriter._transform_ast = with_probes
    if jit is not None:
        launch = jit.JITFunction.run

        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            probes.launched.add(self.fn.__name__)
            return launch(self, *args, **kwargs)

        jit.JITFunction.run = run
    if cute is not None:
        compile_launch = cute.launch

        def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
            probes.launched.add(getattr(getattr(self, "funcBody", None), "__name__", ""))  # of 4.8; no public name
            return compile_launch(self, *args, **kwargs)

        cute.launch = traced


def numbered(tree: ast.AST) -> Iterator[tuple[int, ast.stmt]]:
    """The statements within functions, each with a number of its own: its line, and how many are before it there."""
    inside = {
        id(statement)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in function.body
        for statement in ast.walk(inner)
    }
    before = Counter[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and id(node) in inside and not _says_nothing(node):
            yield number_of(node.lineno - 1, before[node.lineno]), node
            before[node.lineno] += 1


def number_of(line: int, before: int) -> int:
    """The number of a statement on a line, from 0, that has so many before it there."""
    return line + 1 + _SAME_LINE * before


def line_of(number: int) -> int:
    """The line of a numbered statement, from 0."""
    return number % _SAME_LINE - 1


def _says_nothing(node: ast.stmt) -> bool:
    """Whether it is a docstring, or a declaration."""
    return isinstance(node, ast.Global | ast.Nonlocal) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _probed(tree: Any) -> Any:
    """The tree with a probe before each statement of its functions, and one at the beginning of each turn of a loop."""
    numbers = {id(node): number for number, node in numbered(tree)}
    for node in list(ast.walk(tree)):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, [probed for one in block for probed in _with_probes(one, numbers)])
    return ast.fix_missing_locations(tree)


def _with_probes(node: ast.stmt, numbers: dict[int, int]) -> Iterator[ast.stmt]:
    number = numbers.get(id(node))
    if number is not None:
        yield _probe(_RAN, node, number)
        if isinstance(node, Loop):
            yield _probe(_TURNS, node, number, True)
            node.body.insert(0, _probe(_TURNS, node, number))
    yield node


def _probe(name: str, at: ast.stmt, *given: object) -> ast.stmt:
    called = ast.Call(ast.Name(name, ast.Load()), [ast.Constant(value) for value in given], [])
    return ast.copy_location(ast.Expr(called), at)
