"""A model's answer as edits: search/replace blocks, found in the text line for line.

The form is that of aider and its kin, which models know well. Nothing is guessed: blank ends of lines are ignored, and a whole
block may be indented differently; beyond that what is searched for has to stand in the text, once.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.values import Refusal

SEARCH, DIVIDER, REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
MOST_BLOCKS = 64
MOST_CHARACTERS = 400_000


@dataclass(frozen=True)
class Block:
    """Lines without their ends. An empty `search` adds `replace` in front of the first definition that may be edited."""

    search: tuple[str, ...]
    replace: tuple[str, ...]


def blocks_in(answer: str) -> tuple[Block, ...] | Refusal:
    """The blocks of an answer, in order; prose and fences around them do not count."""
    if len(answer) > MOST_CHARACTERS:
        return Refusal(f"The answer is longer than {MOST_CHARACTERS:,} characters.")
    found: list[Block] = []
    search: list[str] | None = None
    replace: list[str] | None = None
    for line in answer.splitlines():
        mark = line.rstrip()
        if mark == SEARCH:
            if search is not None:
                return Refusal(f"Block {len(found) + 1} has a second `{SEARCH}` before its end.")
            search, replace = [], None
        elif mark == DIVIDER and search is not None and replace is None:
            replace = []
        elif mark == REPLACE:
            if search is None or replace is None:
                return Refusal(f"Block {len(found) + 1} has `{REPLACE}` without `{SEARCH}` and `{DIVIDER}` before it.")
            found.append(Block(tuple(search), tuple(replace)))
            search = replace = None
        elif search is not None:
            (search if replace is None else replace).append(line)
    if search is not None:
        return Refusal(f"Block {len(found) + 1} does not end with `{REPLACE}`: the answer was cut off.")
    if not found:
        return Refusal(f"The answer has no block that begins with `{SEARCH}`.")
    if len(found) > MOST_BLOCKS:
        return Refusal(f"The answer has {len(found)} blocks; at most {MOST_BLOCKS} are read.")
    return tuple(found)


def applied(blocks: Sequence[Block], text: str, first_editable: int) -> str | Refusal:
    """The text after all blocks, each searched for in `text` as it stands.

    `first_editable`: the line, from 0, above which a block with nothing to search for adds its lines.
    """
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(end)
    changes: list[
        tuple[int, int, int, list[str]]
    ] = []  # first line, last one exclusive, number of the block, new lines
    for number, block in enumerate(blocks, 1):
        if not any(line.strip() for line in block.search):
            changes.append((first_editable, first_editable, number, [*block.replace, "", ""]))
            continue
        place = _place(block.search, lines)
        if isinstance(place, str):
            return Refusal(f"Block {number} {place}.")
        start, indent = place
        changes.append((start, start + len(block.search), number, [_indented(line, indent) for line in block.replace]))
    changes.sort()
    for (_, ended, one, _), (start, _, other, _) in itertools.pairwise(changes):
        if start < ended:
            return Refusal(f"Blocks {min(one, other)} and {max(one, other)} search for the same lines: make them one.")
    for start, last, _, new in reversed(changes):
        lines[start:last] = new
    changed = end.join(lines)
    return changed if changed != text else Refusal("The answer changes nothing.")


def _place(search: tuple[str, ...], lines: Sequence[str]) -> tuple[int, str] | str:
    """Where the lines stand and how much further in (or "-" and how much further out); why not, in words."""
    for same in (_exactly, _up_to_indentation):
        found = [
            (start, indent)
            for start in range(len(lines) - len(search) + 1)
            if (indent := same(search, lines[start : start + len(search)])) is not None
        ]
        if len(found) == 1:
            return found[0]
        if found:
            where = ", ".join(str(start + 1) for start, _ in found[:5])
            return f"fits {len(found)} places (lines {where}): search for more lines, so that only one fits"
    shown = next(line for line in search if line.strip()).strip()
    return f"searches for lines that are not in the file (from `{shown}` on): copy them as they stand"


def _exactly(search: Sequence[str], lines: Sequence[str]) -> str | None:
    return "" if all(a.rstrip() == b.rstrip() for a, b in zip(search, lines, strict=True)) else None


def _up_to_indentation(search: Sequence[str], lines: Sequence[str]) -> str | None:
    """By what all lines that are not blank are indented more, or less with a "-" before it."""
    shifts = set()
    for wanted, line in zip(search, lines, strict=True):
        if wanted.strip() != line.strip():
            return None
        if wanted.strip():
            shifts.add((_indentation(wanted), _indentation(line)))
    shift = {_shift(before, after) for before, after in shifts}
    return shift.pop() if len(shift) == 1 else None


def _shift(before: str, after: str) -> str | None:
    if after.startswith(before):
        return after.removeprefix(before)
    return f"-{before.removeprefix(after)}" if before.startswith(after) else None


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _indented(line: str, indent: str) -> str:
    if not line.strip():
        return line.strip()
    return line.removeprefix(indent[1:]) if indent.startswith("-") else indent + line
