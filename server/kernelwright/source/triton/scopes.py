"""What a name of a Triton kernel stands for at a place within a loop, where only one assignment can have set it."""

import ast
import functools
from dataclasses import dataclass

from kernelwright.source.bindings import Binding, bindings_of
from kernelwright.source.calls import parameters
from kernelwright.source.trees import statements, walk

Block = tuple[ast.stmt, str]
"""A statement with the field ("body", "orelse", ...) of it that holds a list of statements."""

_BLOCKS = ("body", "orelse", "finalbody")


@dataclass(frozen=True, eq=False)
class Scopes:
    """The statements of a function, the blocks around each, and what sets each name."""

    function: ast.FunctionDef

    @functools.cached_property
    def around(self) -> dict[ast.stmt, tuple[Block, ...]]:
        """The blocks that a statement stands in, outermost first, without the function's own body."""
        found: dict[ast.stmt, tuple[Block, ...]] = {}
        waiting: list[tuple[ast.stmt, tuple[Block, ...]]] = [(one, ()) for one in self.function.body]
        for statement, blocks in waiting:  # grows meanwhile
            found[statement] = blocks
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                continue
            for field in _BLOCKS:
                inner = getattr(statement, field, None) or ()
                waiting += [(one, (*blocks, (statement, field))) for one in inner if isinstance(one, ast.stmt)]
        return found

    @functools.cached_property
    def statement_of(self) -> dict[ast.AST, ast.stmt]:
        """The innermost statement around each node."""
        outer_first = statements(self.function.body)
        return {node: statement for statement in outer_first for node in walk(statement)}

    @functools.cached_property
    def parameters(self) -> frozenset[str]:
        """The parameters that nothing sets again."""
        return frozenset(p.arg for p in parameters(self.function)) - self._set.keys()

    @functools.cached_property
    def _set(self) -> dict[str, tuple[Binding, ...]]:
        found: dict[str, tuple[Binding, ...]] = {}
        for binding in bindings_of(self.function):
            found[binding.name] = (*found.get(binding.name, ()), binding)
        return found

    def loops_around(self, statement: ast.stmt) -> tuple[ast.For, ...]:
        """The loops that a statement stands in, innermost first."""
        return tuple(block for block, _ in reversed(self.around[statement]) if isinstance(block, ast.For))

    def set_in(self, name: str, loop: ast.For) -> tuple[Binding, ...]:
        """What sets the name in the body of a loop."""
        return tuple(one for one in self._set.get(name, ()) if self._is_within(one.node, loop))

    def binding(self, name: str, at: ast.stmt, loop: ast.For) -> Binding | None:
        """The assignment that alone can have set `name` when `at` runs in a turn of `loop`; None where none is certain."""
        found = self.set_in(name, loop) or self._set.get(name, ())
        if len(found) != 1 or name in {p.arg for p in parameters(self.function)}:
            return None
        node = found[0].node
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            return None
        return found[0] if self.comes_before(node, at) else None

    def running(self, name: str, loop: ast.For) -> tuple[Binding, ast.AugAssign] | None:
        """Of a name that each turn of `loop` adds to once: the assignment that it starts from anew, and the addition."""
        found = self._set.get(name, ())
        if len(found) != 2 or name in {p.arg for p in parameters(self.function)}:
            return None
        (start, added), own = found, self.around.get(loop, ())
        match start.node, added.node:
            case ast.Assign() as first, ast.AugAssign(op=ast.Add()) as step:
                starts = self.around.get(first) == own and first.lineno < loop.lineno
                if starts and self.around.get(step) == (*own, (loop, "body")):
                    return start, step
        return None

    def is_kept(self, node: ast.AST, since: ast.stmt, loop: ast.For) -> bool:
        """Whether what `node` reads is the same from the statement `since` until the end of a turn of `loop`."""
        names = {part.id for part in walk(node) if isinstance(part, ast.Name)}
        inside = (self.set_in(name, loop) for name in names)
        return all(
            len(found) < 2 and all(isinstance(b.node, ast.stmt) and self.comes_before(b.node, since) for b in found)
            for found in inside
        )

    def is_the_same(self, node: ast.AST, since: ast.stmt, loop: ast.For) -> bool:
        """Whether what `node` reads at the statement `since`, above a loop, is what it reads in all turns of that."""
        names = {part.id for part in walk(node) if isinstance(part, ast.Name)}
        found = [one.node for name in names for one in self._set.get(name, ())]
        return self.comes_before(since, loop) and all(
            isinstance(one, ast.stmt) and self.comes_before(one, since) for one in found
        )

    def comes_before(self, one: ast.stmt, other: ast.stmt) -> bool:
        """Whether `one` has always run before `other` does: it stands above, in the same block or one around it."""
        own, its = self.around.get(one, ()), self.around.get(other, ())
        return one.lineno < other.lineno and own == its[: len(own)]

    def _is_within(self, node: ast.AST, loop: ast.For) -> bool:
        statement = node if isinstance(node, ast.stmt) else self.statement_of.get(node)
        return statement is not None and any(block is loop for block, _ in self.around.get(statement, ()))
