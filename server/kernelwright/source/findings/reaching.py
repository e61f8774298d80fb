"""Finds the assignments that a name may have its value from where it is used."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelwright.source.bindings import Binding, Loop, bindings, loop_of
from kernelwright.source.trees import children, walk

Value = ast.expr | Loop
PASSED = ast.Constant(...)
"""Stands for what a caller passes, where a parameter may still hold it."""

_Block = tuple[int, str]  # the number of the statement that holds it, and which of its blocks it is
_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")


@dataclass(frozen=True)
class _Place:
    """Says where a statement stands: its number in order of the text, and the blocks around it, outermost first."""

    number: int
    blocks: tuple[_Block, ...]


@dataclass(frozen=True)
class _Definition:
    place: _Place
    value: Value


class Reaching:
    """Finds the assignments of one body that reach a use of a name, without those of functions inside it.

    An assignment hides those before it from every use that it is run before in any case. One further down reaches a use
    above it in a loop around both.
    """

    def __init__(self, body: list[ast.stmt], parameters: tuple[str, ...] = ()) -> None:
        self._parameters = frozenset(parameters)
        self._places: dict[ast.AST, _Place] = {}
        self._loops: set[_Block] = set()  # the blocks that are run again
        self._forks: set[int] = set()  # the statements that run one of their blocks
        self._count = 0
        self._known: dict[tuple[str, int], tuple[Value, ...]] = {}
        self._definitions: dict[str, list[_Definition]] = {}
        self._read(body, ())

    def at(self, name: ast.Name) -> tuple[Value, ...] | None:
        """List what a name may be here; None for a node that is not of this body."""
        place = self._places.get(name)
        if place is None:
            return None
        key = name.id, place.number
        if key not in self._known:
            self._known[key] = self._reaching(name.id, place)
        return self._known[key]

    def _reaching(self, name: str, place: _Place) -> tuple[Value, ...]:
        definitions = self._definitions.get(name, [])
        before = [d for d in definitions if d.place.number < place.number and not self._is_apart(d.place, place)]
        certain = next((i for i in reversed(range(len(before))) if _around(before[i].place, place)), None)
        reached = before if certain is None else before[certain:]
        # Other iterations of a loop around both, unless each begins with the certain one.
        hidden = before[certain].place.blocks if certain is not None else ()
        loops = [block for block in place.blocks if block in self._loops and block not in hidden]
        others = [d for d in definitions if d not in before] if loops else []
        found = (*reached, *(d for d in others if any(block in d.place.blocks for block in loops)))
        passed = (PASSED,) if found and certain is None and name in self._parameters else ()
        return (*passed, *(d.value for d in found))

    def _is_apart(self, definition: _Place, use: _Place) -> bool:
        """Tell whether the two are in branches of which one alone is run, such as those of an `if` and its `else`."""
        parted = next((pair for pair in zip(definition.blocks, use.blocks, strict=False) if pair[0] != pair[1]), None)
        return parted is not None and parted[0][0] == parted[1][0] and parted[0][0] in self._forks

    def _read(self, body: list[ast.stmt], blocks: tuple[_Block, ...]) -> None:
        for statement in body:
            self._count += 2
            place = _Place(self._count, blocks)
            is_nested = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            inner = {} if is_nested else {name: parts for name in _BLOCKS if (parts := getattr(statement, name, None))}
            nodes = walk(statement) if not inner else _header(statement, inner)
            again = ((place.number, "body"),) if isinstance(statement, ast.While) else ()  # as its test is
            used = _Place(place.number, (*blocks, *again))
            self._places.update((node, used) for node in nodes if node.__class__ is ast.Name)
            for binding in bindings([statement, *(node for node in nodes if node.__class__ is ast.NamedExpr)]):
                if not isinstance(binding.node, ast.For):
                    self._define(binding, place)
            if isinstance(statement, ast.FunctionDef):
                self._add(statement.name, place, returned(statement))
            if isinstance(statement, ast.If | ast.Match):
                self._forks.add(place.number)
            for name, parts in inner.items():
                self._read_block(statement, name, parts, place)

    def _read_block(self, statement: ast.stmt, name: str, parts: list[Any], holder: _Place) -> None:
        if name in ("handlers", "cases"):
            for index, part in enumerate(parts):
                self._read(part.body, (*holder.blocks, (holder.number, f"{name} {index}")))
            return
        blocks = holder.blocks
        # What a `with` or `try` holds is run as if it stood around it.
        if not isinstance(statement, ast.With) and not (name == "body" and isinstance(statement, ast.Try)):
            blocks = (*blocks, (holder.number, name))
        if name == "body" and isinstance(statement, ast.For | ast.While):
            self._loops.add(blocks[-1])
        if name == "body" and isinstance(statement, ast.For):
            place = _Place(self._count + 1, blocks)
            for binding in bindings([statement]):
                is_plain = isinstance(statement.target, ast.Name)
                self._add(binding.name, place, loop_of(statement) if is_plain else binding.value)
        self._read(parts, blocks)

    def _define(self, binding: Binding, place: _Place) -> None:
        if isinstance(binding.node, ast.AugAssign) and isinstance(binding.value, ast.BinOp):
            self._places[binding.value.left] = place  # made for the binding, so not a node of the statement
        self._add(binding.name, _Place(place.number + 1, place.blocks), binding.value)

    def _add(self, name: str, place: _Place, value: Value) -> None:
        self._definitions.setdefault(name, []).append(_Definition(place, value))


def _header(statement: ast.stmt, inner: Mapping[str, list[Any]]) -> list[ast.AST]:
    """List the nodes of a statement without the blocks that it holds, as the test of an `if`."""
    nested = {id(part) for parts in inner.values() for part in parts}
    return [node for part in children(statement) if id(part) not in nested for node in walk(part)]


def _around(definition: _Place, use: _Place) -> bool:
    """Tell whether the definition is run before the use, whatever branches are taken."""
    return definition.blocks == use.blocks[: len(definition.blocks)]


def returned(function: ast.FunctionDef) -> ast.expr:
    """Read `def grid(meta): return (…)` as `lambda meta: (…)`; `...` where there is not just one value to return."""
    returns = [node for node in walk(function) if isinstance(node, ast.Return) and node.value is not None]
    if len(returns) != 1 or returns[0].value is None:
        return ast.copy_location(ast.Constant(...), function)
    return ast.copy_location(ast.Lambda(function.args, returns[0].value), function)
