"""The grid of a Triton launch: where it is written, and which numbers of blocks in it have names of their own."""

import ast
from collections.abc import Mapping

from kernelwright.micro.rewrite.triton_source import Fragment, names_read
from kernelwright.source.bindings import bindings_of
from kernelwright.source.trees import statements, walk
from kernelwright.source.triton.reader import Reading, block_counted


def resolved(function: ast.FunctionDef, grid: ast.expr) -> tuple[ast.expr | ast.FunctionDef, ast.stmt | None]:
    """What a grid is, through a local name, and the statement that sets that name."""
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


def counts_in(
    launcher: Fragment, function: ast.FunctionDef, grid: ast.expr | ast.FunctionDef
) -> Mapping[str, ast.Assign]:
    """The names in a grid that are set once, to how many blocks of a size that has a name there are, with what sets them."""
    found: dict[str, ast.Assign] = {}
    for name in names_read(grid):
        given = [one for one in bindings_of(function) if one.name == name]
        if len(given) == 1 and isinstance(block_counted(given[0].value, launcher.aliases), ast.Name):
            node = given[0].node
            if isinstance(node, ast.Assign) and node.value is given[0].value and len(node.targets) == 1:
                found[name] = node
    return found


def of_own_axes(
    reading: Reading, grid: ast.expr | ast.FunctionDef, name: str, literals: list[ast.Constant]
) -> list[ast.Constant] | None:
    """The literals that stand where the grid counts the programs that take `name` elements each.

    None where the axes of the grid do not tell for each whether it does.
    """
    grid = grid.body if isinstance(grid, ast.Lambda) else grid
    axes = reading.axes
    own = axes.get(name, frozenset())
    others = frozenset[int]().union(*(its for other, its in axes.items() if other != name))
    if not isinstance(grid, ast.Tuple | ast.List) or not own or own & others:
        return None
    parts = [(axis, walk(part)) for axis, part in enumerate(grid.elts)]
    places = [next((axis for axis, nodes in parts if literal in nodes), None) for literal in literals]
    if not all(place in own | others for place in places):
        return None
    return [literal for literal, place in zip(literals, places, strict=True) if place in own]
