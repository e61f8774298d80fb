"""The quick walk gives what Python's own gives, without operators and contexts."""

import ast
from pathlib import Path

import pytest

from kernelwright.source import trees

LEFT_OUT = ast.operator | ast.unaryop | ast.boolop | ast.cmpop | ast.expr_context
FILES = sorted(Path(trees.__file__).parents[1].rglob("*.py"))
MORE = """
async def f[T](x, /, y: int = 1, *args, z=None, **rest) -> None:
    async with a as b, c: pass
    async for i in x: await y
    try: raise E from e
    except* (A, B) as group: del x[1:2, ...], y[{**a, 'b': c}]
    match x:
        case {"a": [1, *others], **more} | C(y=-1, z=1 + 2j) if (n := x) > y >= z: return f"{x!r:>{y}}" % 2
    global g; nonlocal h
    return [lambda *, k=1: (yield k) for i in x if i if not j]
""".replace("[T]", "")


@pytest.mark.parametrize("text", [*(file.read_text() for file in FILES[::9]), MORE])
def test_the_same_nodes_in_the_same_order(text: str) -> None:
    tree = ast.parse(text)
    assert trees.walk(tree) == [node for node in ast.walk(tree) if not isinstance(node, LEFT_OUT)]
    for node in ast.walk(tree):
        assert trees.children(node) == [one for one in ast.iter_child_nodes(node) if not isinstance(one, LEFT_OUT)]


def test_a_node_made_by_hand_may_lack_fields() -> None:
    call = ast.Call(func=ast.Name("f"))
    assert trees.walk(call) == [call, call.func]


def test_operators() -> None:
    tree = ast.parse("a % b; -c; a += d; e < f; g and h")
    kinds = [type(found) for node in trees.walk(tree) if (found := trees.operator(node)) is not None]
    assert kinds == [ast.Add, ast.Mod, ast.USub, ast.And]


def test_every_node_with_a_place_tells_it_and_no_other() -> None:
    for node in ast.walk(ast.parse(MORE)):
        if "lineno" in node._attributes:
            assert trees.extent(node) == (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        else:
            with pytest.raises(TypeError, match="has no place in the text"):
                trees.extent(node)
