"""The errors that a compiler has told of one version of a document, and where they are in a later one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol.types import Range

from kernelwright.lsp.snapshot import Snapshot

if TYPE_CHECKING:
    from kernelwright.proof.worker.toolchain.errors import CompileError

_TOKEN = re.compile(r"\w+|\S")


@dataclass(frozen=True)
class Compiled:
    """Errors, each with the text of its line, and how many lines there were."""

    errors: "tuple[tuple[CompileError, str], ...]" = ()
    count: int = 0

    @classmethod
    def of(cls, snapshot: Snapshot, errors: "tuple[CompileError, ...]") -> "Compiled":
        lines = snapshot.lines
        count = len(lines.starts)
        return cls(tuple((error, lines.line(error.line)) for error in errors if error.line < count), count)

    def places(self, snapshot: Snapshot) -> "Iterator[tuple[Range, CompileError]]":
        """Find the errors in a text that has been typed on: those whose line is as it was, there or moved with the end."""
        for error, written in self.errors:
            number = line_now(snapshot, error.line, written, self.count)
            if number is not None:
                yield _place(snapshot, number, written, error.column), error


def line_now(snapshot: Snapshot, line: int, written: str, count: int) -> int | None:
    """Where a line is now, there or moved with the end of a text that had `count` lines; None where it was changed."""
    lines = snapshot.lines
    places = dict.fromkeys((line, line + len(lines.starts) - count))
    return next((one for one in places if 0 <= one < len(lines.starts) and lines.line(one) == written), None)


def _place(snapshot: Snapshot, line: int, written: str, column: int | None) -> Range:
    """The token at a column; without one what stands on the line."""
    token = _TOKEN.match(written, column) if column is not None else None
    if token is not None:
        return Range(snapshot.at(line, token.start()), snapshot.at(line, token.end()))
    start = len(written) - len(written.lstrip())
    return Range(snapshot.at(line, start), snapshot.at(line, max(len(written.rstrip()), start)))
