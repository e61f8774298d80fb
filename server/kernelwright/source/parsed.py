"""The syntax tree of a segment: one top-level piece of a text, also while it is being typed."""

import ast
import functools
import warnings

from kernelwright.source.trees import children

_TRIES = 8
_DEEPEST = 150  # deeper code is generated, and the rules walk it recursively


@functools.lru_cache(maxsize=256)
def syntax(text: str) -> ast.Module | None:
    """The syntax tree of a segment. Lines that do not parse yet are taken as `pass`; None when that does not help."""
    for _ in range(_TRIES):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
            return tree if _depth(tree) <= _DEEPEST else None
        except SyntaxError as error:
            blanked = _blank(text, error.lineno)
            if blanked is None or blanked == text:
                return None
            text = blanked
        except (ValueError, RecursionError, MemoryError):
            return None
    return None


def _depth(tree: ast.AST) -> int:
    """How deeply the nodes are nested; counted without recursion, which is what depth would break."""
    depth, level = 0, [tree]
    while level:
        depth += 1
        level = [child for node in level for child in children(node)]
    return depth


def _blank(text: str, number: int | None) -> str | None:
    """`text` with one line made harmless; its other lines keep their places."""
    lines = text.split("\n")
    if number is None or not 1 <= number <= len(lines):
        return None
    line = lines[number - 1]
    indent = line[: len(line) - len(line.lstrip())]
    following = next((later for later in lines[number:] if later.strip()), "")
    deeper = len(following) - len(following.lstrip()) > len(indent)
    lines[number - 1] = indent + ("if 1:" if deeper else "pass")
    return "\n".join(lines)
