"""Loops that keep their largest or smallest element, and where it stands: `if (v > best) { best = v; at = j; }`."""

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import named, plain
from kernelwright.micro.rewrite.cuda_folds import KINDS, WHOLE, Extreme, Fold
from kernelwright.micro.rewrite.cuda_guarded import statements_of, type_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.expressions import Loop
from kernelwright.source.cuda.text import field, of_type

_MORE = {"float": "fmaxf", "double": "fmax"}  # else max
_LESS = {"float": "fminf", "double": "fmin"}


def extremes(sight: CudaSight, loop: Loop) -> tuple[tuple[Node, Fold], ...]:
    """The `if` statements of a loop that do so, and nothing else mentions their locals there."""
    found = ((node, _extreme(sight, loop, node)) for node in of_type(loop.body, "if_statement"))
    return tuple((node, one) for node, one in found if one is not None)


def _extreme(sight: CudaSight, loop: Loop, node: Node) -> Fold | None:
    source, inside = sight.file.source, field(node, "consequence")
    condition = field(node, "condition", "value")
    left, sign, right = (field(condition, part) for part in ("left", "operator", "right"))
    if inside is None or field(node, "alternative") is not None or left is None or sign is None or right is None:
        return None
    given = dict(filter(None, (_assigned(sight, one) for one in statements_of(inside))))
    changes = list(of_type(node, "assignment_expression", "update_expression"))  # also within the elements compared
    if not len(given) == len(statements_of(inside)) == len(changes) <= 2 or sight.content(sign) not in ("<", ">"):
        return None
    sides = plain(source, left), plain(source, right)
    for (value, best), turned in ((sides, False), (sides[::-1], True)):
        is_largest = (sight.content(sign) == ">") is not turned
        if given == {best: value} and type_of(sight, best) in KINDS:
            if sum(1 for _ in named(source, loop.body, frozenset({best}))) != 2:
                return None
            called = _MORE if is_largest else _LESS
            return Fold(best, called.get(type_of(sight, best), "max" if is_largest else "min"))
        places = [name for name, its in given.items() if name != best and its == loop.variable]
        if given.get(best) != value or len(places) != 1:
            continue
        (place,) = places
        mentions = [sum(1 for _ in named(source, loop.body, frozenset({name}))) for name in (best, place)]
        if mentions == [2, 1] and type_of(sight, best) in KINDS and type_of(sight, place) in WHOLE:
            return Extreme(best, ">" if is_largest else "<", place)
    return None


def _assigned(sight: CudaSight, statement: Node) -> tuple[str, str] | None:
    """The name and the value of `name = value;`."""
    inner = (
        statement.named_children[0] if statement.type == "expression_statement" and statement.named_children else None
    )
    left, sign, right = (field(inner, part) for part in ("left", "operator", "right"))
    if inner is None or inner.type != "assignment_expression" or left is None or right is None or sign is None:
        return None
    return (sight.content(left), plain(sight.file.source, right)) if sight.content(sign) == "=" else None
