"""What a live finding is, and the contract of the rules that find them."""

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kernelwright.values import Edits, Language


class Severity(StrEnum):
    WARNING = "warning"
    HINT = "hint"
    INFORMATION = "information"


@dataclass(frozen=True)
class Fix:
    """A mechanical remedy: `title` completes a menu, `edits` are against the text that was looked at."""

    title: str
    edits: Edits


@dataclass(frozen=True)
class Finding:
    """One remark on a place of the text. Offsets and columns count code points, lines count from 0, ends are exclusive."""

    code: str
    severity: Severity
    message: str  # the reason, one sentence
    start: int
    end: int
    start_line: int
    start_column: int
    end_line: int
    end_column: int
    fix: Fix | None = None
    kernel: str | None = None


@dataclass(frozen=True)
class Change:
    """Replace the source of `node` (or only its end, with `after`) by `new_text`, in the node's own segment."""

    node: ast.AST
    new_text: str
    after: bool = False
    until: ast.AST | None = None  # replace from the start of `node` to the end of this one


@dataclass(frozen=True)
class Problem:
    """What a rule says, still in terms of syntax nodes. `segment` counts the texts of the unit: 0 is the kernel's own.

    "{line}" in the message stands for the line in the file of `line_of`, a node of the same segment.
    """

    node: ast.AST
    message: str
    segment: int = 0
    fix: str = ""
    changes: tuple[Change, ...] = ()
    line_of: ast.AST | None = None


@dataclass(frozen=True)
class Rule:
    """One kind of finding. `check` sees one unit (a Triton or CUDA kernel with its launches, or one PyTorch function or
    class) and yields each `Problem`, or `CudaProblem`.

    The message and `doc` are for a person who writes kernels; both examples are whole snippets, and a test holds the
    rule to them.
    """

    code: str
    language: Language
    severity: Severity
    title: str
    doc: str
    example_wrong: str
    example_right: str
    check: Callable[[Any], Iterable[Any]]
