"""Which assignments a name may have its value from, where it is used."""

import ast
from dataclasses import dataclass

from kernelwright.source.bindings import Binding, Loop, bindings, loop_of
from kernelwright.source.trees import children, walk

Value = ast.expr | Loop
PASSED = ast.Constant(...)
"""What a parameter is given, where a branch may have left it so."""

_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")


@dataclass(frozen=True)
class _Place:
    """Where a statement stands: its number in order of the text, and the blocks around it, outermost first."""

    number: int
    blocks: tuple[int, ...]


@dataclass(frozen=True)
class _Definition:
    place: _Place
    value: Value


class Reaching:
    """The definitions of the names of one body, without those of functions inside it.

    An assignment counts where the text comes past it: it hides those before it in blocks that it stands in, and one
    further down reaches what is above it in a loop around both.
    """

    def __init__(self, body: list[ast.stmt], parameters: tuple[str, ...] = ()) -> None:
        self._parameters = frozenset(parameters)
        self._places: dict[ast.AST, _Place] = {}
        self._loops: set[int] = set()  # the blocks that are run again
        self._blocks = 0
        self._count = 0
        self._known: dict[tuple[str, int], tuple[Value, ...]] = {}
        self._definitions: dict[str, list[_Definition]] = {}
        self._read(body, (self._new_block(),))

    def at(self, name: ast.Name) -> tuple[Value, ...] | None:
        """What a name may be here; None for a node that is not of this body."""
        place = self._places.get(name)
        if place is None:
            return None
        key = name.id, place.number
        if key not in self._known:
            self._known[key] = self._reaching(name.id, place)
        return self._known[key]

    def _reaching(self, name: str, place: _Place) -> tuple[Value, ...]:
        definitions = self._definitions.get(name, [])
        before = [d for d in definitions if d.place.number < place.number]
        certain = next((i for i in reversed(range(len(before))) if _around(before[i].place, place)), None)
        reached = before if certain is None else before[certain:]
        passed = (PASSED,) if certain is None and reached and name in self._parameters else ()
        # What a loop around both comes to later, and not past the certain one in between.
        hidden = before[certain].place.blocks if certain is not None else ()
        loops = [block for block in place.blocks if block in self._loops and block not in hidden]
        later = definitions[len(before) :] if loops else []
        again = [d for d in later if any(block in d.place.blocks for block in loops)]
        return (*passed, *(d.value for d in (*reached, *again)))

    def _new_block(self) -> int:
        self._blocks += 1
        return self._blocks

    def _read(self, body: list[ast.stmt], blocks: tuple[int, ...]) -> None:
        for statement in body:
            self._count += 2
            place = _Place(self._count, blocks)
            inner = [(name, getattr(statement, name, [])) for name in _BLOCKS]
            if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                inner = []
            nested = {id(part) for _, parts in inner for part in parts}
            inline: list[ast.AST] = [statement]
            for part in children(statement):
                if id(part) not in nested:
                    inline += self._note(part, place)
            for binding in bindings(inline):
                self._define(binding, place, blocks)
            if isinstance(statement, ast.FunctionDef):
                self._definitions.setdefault(statement.name, []).append(_Definition(place, returned(statement)))
            for name, parts in inner:
                block = self._new_block()
                if name == "body" and isinstance(statement, ast.For | ast.While):
                    self._loops.add(block)
                    self._define_loop(statement, (*blocks, block))
                if name in ("handlers", "cases"):
                    for part in parts:
                        self._read(part.body, (*blocks, self._new_block()))
                elif parts:
                    # What a `with` or `try` holds is run as if it stood around it.
                    same = isinstance(statement, ast.With) or (name == "body" and isinstance(statement, ast.Try))
                    self._read(parts, blocks if same else (*blocks, block))

    def _define(self, binding: Binding, place: _Place, blocks: tuple[int, ...]) -> None:
        if isinstance(binding.node, ast.For):
            return
        self._note(binding.value, place)
        after = _Place(place.number + 1, blocks)
        self._definitions.setdefault(binding.name, []).append(_Definition(after, binding.value))

    def _define_loop(self, statement: ast.For | ast.While, blocks: tuple[int, ...]) -> None:
        if isinstance(statement, ast.For):
            place = _Place(self._count + 1, blocks)
            for binding in bindings([statement]):
                value: Value = loop_of(statement) if isinstance(statement.target, ast.Name) else binding.value
                self._definitions.setdefault(binding.name, []).append(_Definition(place, value))

    def _note(self, part: ast.AST, place: _Place) -> list[ast.AST]:
        """Remember where names are used; the assignments that are expressions."""
        found: list[ast.AST] = []
        for node in walk(part):
            if node.__class__ is ast.Name:
                self._places[node] = place
            elif node.__class__ is ast.NamedExpr:
                found.append(node)
        return found


def _around(definition: _Place, use: _Place) -> bool:
    """Whether every way to the use comes past the definition."""
    return definition.blocks == use.blocks[: len(definition.blocks)]


def returned(function: ast.FunctionDef) -> ast.expr:
    """`def grid(meta): return (…)` as `lambda meta: (…)`; `...` for a function that is more than that."""
    returns = [node for node in walk(function) if isinstance(node, ast.Return) and node.value is not None]
    if len(returns) != 1 or returns[0].value is None:
        return ast.copy_location(ast.Constant(...), function)
    return ast.copy_location(ast.Lambda(function.args, returns[0].value), function)
