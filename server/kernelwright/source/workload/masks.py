"""What a mask may be: of the scores of attention, of tokens, or None, by its name and by what the body does with it."""

import ast
import re
from collections.abc import Sequence

from kernelwright.source.trees import walk
from kernelwright.source.workload.told import Told

_MASK = re.compile(r"\w*masks?$")
_OF_ATTENTION = re.compile(r"(?:\w+_)?(?:attention|attn|causal)_masks?$")
_BASE = (8, 512, 1024)  # by batch, token and feature

NONE, LIKE, LIKE_BOOL = "None", "", "bool"  # the latter have the shape of the first tensor
_SCORES, _SCORES_BOOL, _TOKENS, _TOKENS_BOOL = "scores", "scores bool", "tokens", "tokens bool"
# Random numbers, so that it shows whether a mask counts; scores of which nothing is kept would be no numbers.
_WRITTEN = {
    LIKE_BOOL: "ones({}, dtype=bool)",
    _SCORES_BOOL: "ones({}, dtype=bool)",
    _TOKENS: "randint(0, 2, {})",
    _TOKENS_BOOL: "randint(0, 2, {}, dtype=bool)",
}
_OF_RANK = {2: (_TOKENS, _TOKENS_BOOL, LIKE), 4: (_SCORES, _SCORES_BOOL, LIKE)}  # other ranks are as any tensor's
_BY_NAME = {
    True: (_SCORES, NONE, _TOKENS, _TOKENS_BOOL, _SCORES_BOOL, LIKE),  # of attention, by its name
    False: (LIKE, LIKE_BOOL, _TOKENS_BOOL, _TOKENS, _SCORES),
}


def forms(
    tree: ast.FunctionDef | ast.AsyncFunctionDef, parameter: ast.arg, told: Told, *, required: bool
) -> tuple[str, ...]:
    """What a mask among the parameters of a function may be, the likeliest first; () for what is none."""
    name, annotation = parameter.arg, ast.unparse(parameter.annotation) if parameter.annotation else ""
    if not _MASK.match(name) or told.is_sequence or told.items:
        return ()
    rank = told.rank or _axes(tree, name)
    usual = _OF_RANK.get(rank, (LIKE, LIKE_BOOL)) if rank else _BY_NAME[bool(_OF_ATTENTION.match(name))]
    if "Bool" in annotation or "bool" in told.dtypes:
        usual = tuple(sorted(usual, key=lambda form: not form.endswith("bool")))
    if not required:  # it is None where it is left out
        return tuple(form for form in usual if form != NONE)[:2]
    if "None" in annotation:
        return NONE, *(form for form in usual if form != NONE)
    if NONE not in usual and _is_tested(tree, name):
        return usual[0], NONE, *usual[1:]
    return usual


def shape(form: str, base: Sequence[int] | None, *, of_tokens: bool) -> tuple[int, ...] | None:
    """The sizes of a mask by those of the first tensor, which may have no features; None where they are as any tensor's."""
    base = base or _BASE
    if form in (_TOKENS, _TOKENS_BOOL):
        return tuple(base) if of_tokens or len(base) < 3 else (base[0], base[-2])
    if form not in (_SCORES, _SCORES_BOOL):
        return None
    tokens = base[-1] if of_tokens else base[-2] if len(base) > 1 else base[0]
    return (base[0], 1, tokens, tokens) if of_tokens or len(base) > 2 else (tokens, tokens)


def written(form: str, sizes: str) -> str | None:
    """A mask as a generator makes it; None where it is as any tensor."""
    return _WRITTEN[form].format(sizes) if form in _WRITTEN else None


def _axes(tree: ast.AST, name: str) -> int:
    """How many dimensions a name has where it is first indexed with all of them, as in `mask[:, None, None, :]`; 0: nowhere."""
    found = [
        (node.lineno, sum(not _is_none(part) for part in node.slice.elts))
        for node in walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and isinstance(node.slice, ast.Tuple)
        and not any(isinstance(part, ast.Constant) and part.value is ... for part in node.slice.elts)
    ]
    return min(found, default=(0, 0))[1]


def _is_tested(tree: ast.AST, name: str) -> bool:
    """Whether a name is compared with None."""
    compared = (node.left for node in walk(tree) if isinstance(node, ast.Compare) and _is_none(node.comparators[0]))
    return any(isinstance(left, ast.Name) and left.id == name for left in compared)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
