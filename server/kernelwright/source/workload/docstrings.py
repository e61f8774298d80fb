"""What a docstring says of a function's parameters: shapes and dtypes of tensors, and the words that a string may be.

Read in the styles of Google, NumPy and Sphinx: a parameter's name, perhaps its type, a colon, then words up to the next one.
In a sentence, too, where shapes follow at once: `q, k: (heads, dim); caches: (pages, heads, dim)`.
"""

import re
from collections.abc import Collection, Iterator

from kernelwright.source.workload.generators import DTYPES
from kernelwright.source.workload.told import Evidence

_NAME = r"[*`]{0,2}[^\W\d]\w*`{0,2}"
_PARAMETER = re.compile(
    rf"(?:^[ \t]*(?::param\s+(?:[\w.]+\s+)?|[-*]\s+)?|(?<=[;.])\s+|(?<=,)\s+(?=[^:;]*:\s*`?[\[(]))"
    rf"(?P<names>{_NAME}(?:(?:,|\s+and)[ \t]+{_NAME})*)[ \t]*(?:\([^()\n]*\))?[ \t]*:",
    re.M,
)
_DTYPE = re.compile(rf"\b(?:{'|'.join(DTYPES)})\b")
_SHAPE = re.compile(r"\bshape\b[^\[({.\n]{0,20}[\[({]([^\[\](){}]+)[\])}]", re.I)
_AT_ONCE = re.compile(r"\s*`?[\[(]([^\[\](){}]+)[\])]")  # `q: (batch, heads, length, dim)`
_SIZE = re.compile(r"[^\W\d]\w*|\d+")
_WORD = re.compile(r"(['\"`])([a-z][\w-]*)\1")
_CHOICE = re.compile(r"\b(?:options|one of|either|supported|choices)\b|\|", re.I)


def note_docstring(docstring: str, found: Evidence, mark: str) -> bool:
    """Add what a docstring says to what is known already, which it does not overrule; whether it says anything new.

    `mark` tells the names of its sizes from those of bodies.
    """
    new = False
    for name, words in _described(docstring, found.of):
        told, sizes = found.of[name], _sizes(words)
        if sizes and not told.is_number and told.rank in (0, len(sizes)) and told.least <= len(sizes):
            told.rank, told.is_tensor, new = len(sizes), True, True
            for axis, size in enumerate(sizes):
                if size.isdigit():
                    found.values.append(((name, axis), (int(size),)))
                    continue
                found.equal.append(((name, axis), size if size in found.of else f"{mark}{size}"))
                if size in found.of and not found.of[size].is_tensor and not found.of[size].rank:
                    found.of[size].is_number = True
        if sizes and not told.dtypes:
            told.dtypes += dict.fromkeys(_DTYPE.findall(re.split(r";|\.\s", words)[0]))
        options = [word for _, word in _WORD.findall(words) if word not in found.of]
        if len(options) > 1 and _CHOICE.search(words) and not (told.options or told.is_tensor or sizes):
            told.options += dict.fromkeys(options)
            new = True
    return new


def _described(docstring: str, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each parameter with the words on it."""
    found = ((one, _meant(one["names"], names)) for one in _PARAMETER.finditer(docstring))
    starts = [(one, meant) for one, meant in found if meant]
    ends = (*(one.start() for one, _ in starts[1:]), len(docstring))
    for (one, meant), end in zip(starts, ends, strict=False):
        words = re.split(r"\n[ \t]*\n|\n[ \t]*(?:Returns?|Raises?|Yields?)\b", docstring[one.end() : end])[0]
        yield from ((name, words) for name in meant)


def _meant(written: str, names: Collection[str]) -> list[str]:
    """The parameters that a list of names is of; `caches` may be all that end in `_cache`."""
    found: list[str] = []
    for word in re.findall(r"[^\W\d]\w*", written):
        several = f"_{word[:-1]}" if word.endswith("s") and len(word) > 1 else None
        found += [name for name in names if name == word] or [
            name for name in names if several and name.endswith(several)
        ]
    return found


def _sizes(words: str) -> list[str]:
    """The sizes of a shape as they are written; none where it has others than names and numbers."""
    shape = _SHAPE.search(words) or _AT_ONCE.match(words)
    sizes = [size.strip(" `*\n") for size in shape[1].split(",") if size.strip()] if shape else []
    return sizes if all(map(_SIZE.fullmatch, sizes)) and (len(sizes) > 1 or _SHAPE.search(words)) else []
