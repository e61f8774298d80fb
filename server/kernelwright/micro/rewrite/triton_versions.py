"""A kernel with a name for each value that a name is given one after the other, so that each can be looked at by itself."""

import ast
import copy
import dataclasses
from collections.abc import Mapping

from kernelwright.micro.rewrite.triton_source import Fragment
from kernelwright.source.calls import parameters
from kernelwright.source.trees import walk

_MARK = "'"
"""Stands in no name of a text."""


def in_order(kernel: Fragment) -> Fragment:
    """The kernel, each node where it stands, with `x`, `x'1`, `x'2` for the values of a name that is set anew.

    A name is set anew by an assignment in straight-line code. Within a branch or a loop this counts for names that nothing
    outside of it mentions, and that it sets before it reads them; all others keep one name there.
    """
    function = copy.deepcopy(kernel.function)
    names = _Names(function)
    names.block(function.body, {parameter.arg: parameter.arg for parameter in parameters(function)})
    return dataclasses.replace(kernel, node=function)


def spelled(name: str) -> str:
    """The name as it stands in the text."""
    return name.partition(_MARK)[0]


class _Names:
    def __init__(self, function: ast.FunctionDef) -> None:
        self._taken: dict[str, int] = {}
        self._mentions: dict[str, int] = {}
        for node in walk(function):
            if isinstance(node, ast.Name):
                self._mentions[node.id] = self._mentions.get(node.id, 0) + 1

    def block(self, body: list[ast.stmt], current: dict[str, str], own: frozenset[str] | None = None) -> None:
        """Renames what a block mentions; `own` are the names that it may set anew, None for all."""
        for statement in body:
            match statement:
                case (
                    ast.Assign(targets=[ast.Name() as target], value=value)
                    | ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value)
                ):
                    _rename(value, current)
                    if own is None or target.id in own:
                        current[target.id] = self._new(target.id)
                    target.id = current.get(target.id, target.id)
                case ast.If() | ast.For() | ast.While():
                    self._compound(statement, current)
                case _:
                    _rename(statement, current)

    def _compound(self, statement: ast.If | ast.For | ast.While, current: Mapping[str, str]) -> None:
        heads = [statement.iter, statement.target] if isinstance(statement, ast.For) else [statement.test]
        blocks = (statement.body, statement.orelse)
        own = [self._own(block) for block in blocks]
        for head in heads:
            _rename(head, current)
        for block, names in zip(blocks, own, strict=True):
            self.block(block, dict(current), names)

    def _own(self, block: list[ast.stmt]) -> frozenset[str]:
        """The names that only this block mentions, and sets before anything else."""
        count: dict[str, int] = {}
        seen: set[str] = set()
        found: set[str] = set()
        for statement in block:
            nodes = [node for node in walk(statement) if isinstance(node, ast.Name)]
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)]) if name not in seen:
                    if not any(node.id == name and isinstance(node.ctx, ast.Load) for node in nodes):
                        found.add(name)
            for node in nodes:
                seen.add(node.id)
                count[node.id] = count.get(node.id, 0) + 1
        return frozenset(name for name in found if count[name] == self._mentions[name])

    def _new(self, name: str) -> str:
        number = self._taken.get(name, -1) + 1
        self._taken[name] = number
        return f"{name}{_MARK}{number}" if number else name


def _rename(node: ast.AST, current: Mapping[str, str]) -> None:
    for part in walk(node):
        if isinstance(part, ast.Name):
            part.id = current.get(part.id, part.id)
