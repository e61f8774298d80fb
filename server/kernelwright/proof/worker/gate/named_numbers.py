"""Whole numbers that a text compares with or names: a class that is ignored, a token that pads. Pure."""

import ast
import re
from collections.abc import Iterator

from kernelwright.proof.worker.texts import parsed

_NAMED = frozenset({"ignore_index", "padding_idx"})
_COMPARING = frozenset({"eq", "ne", "gt", "ge", "lt", "le", "equal", "not_equal"})
_ABOUT_SIZES = re.compile(r"\.(shape|ndim|dim\(|size\(|numel\(|stride\()|\blen\(|program_id|arange|num_programs")
_IGNORING = re.compile(r"\b(cross_entropy|nll_loss|CrossEntropyLoss|NLLLoss)\b")
_IGNORED = -100  # by torch's losses where nothing else is said
_MOST = 6


def named_numbers(text: str) -> tuple[int, ...]:
    """In order of appearance. Comparisons of sizes do not count, as far as they show it."""
    tree = parsed(text)
    known = dict(_assigned(tree))
    found = [number for node in _asked(tree) if (number := _number(node, known)) is not None]
    if _IGNORING.search(text):
        found.append(_IGNORED)
    return tuple(dict.fromkeys(found))[:_MOST]


def written_numbers(text: str) -> tuple[int, ...]:
    """All whole numbers above one that the text writes, also as `1 << 16` or `4 * 1024`: what it compares with comes first."""
    nodes = list(ast.walk(parsed(text)))
    compared = [inner for node in nodes if isinstance(node, ast.Compare) for inner in ast.walk(node)]
    found = (_worked_out(node) for node in (*compared, *nodes))
    return tuple(dict.fromkeys(number for number in found if number is not None and number > 1))


def _worked_out(node: ast.AST) -> int | None:
    match node:
        case ast.Constant(value=int(value)) if type(value) is int:
            return value
        case ast.BinOp(left=left, op=ast.Mult() | ast.LShift() | ast.Pow() as op, right=right):
            one, other = _worked_out(left), _worked_out(right)
            if one is None or other is None or (other > 64 and not isinstance(op, ast.Mult)):
                return None
            return (
                one * other if isinstance(op, ast.Mult) else one << other if isinstance(op, ast.LShift) else one**other
            )
    return None


def _asked(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if not any(_ABOUT_SIZES.search(ast.unparse(side)) for side in sides):
                yield from sides
        elif isinstance(node, ast.keyword) and node.arg in _NAMED:
            yield node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _COMPARING:
            yield from node.args


def _assigned(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The numbers that stand behind a name, an attribute or a parameter of the text."""
    for node in ast.walk(tree):
        pairs: list[tuple[ast.AST, ast.expr | None]] = []
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.arguments):
            positional = [*node.posonlyargs, *node.args]
            pairs = [*zip(reversed(positional), reversed(node.defaults), strict=False)]
            pairs += zip(node.kwonlyargs, node.kw_defaults, strict=True)
        for target, value in pairs:
            number = _number(value, {}) if value is not None else None
            name = getattr(target, "id", None) or getattr(target, "attr", None) or getattr(target, "arg", None)
            if number is not None and name is not None:
                yield name, number


def _number(node: ast.expr, known: dict[str, int]) -> int | None:
    if isinstance(node, ast.Name | ast.Attribute):
        return known.get(node.id if isinstance(node, ast.Name) else node.attr)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        positive = _number(node.operand, known)
        return None if positive is None else -positive
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
