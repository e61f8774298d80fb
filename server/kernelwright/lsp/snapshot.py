"""One version of an open document, frozen, with what follows from its text worked out when first asked for."""

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lsprotocol.types import Position, PositionEncodingKind, Range

from kernelwright.lsp import positions
from kernelwright.values import (
    Edits,
    KeptLines,
    Kernel,
    Refusal,
    Workload,
    apply,
    digest,
    page_around,
    page_names,
    pages,
    with_texts,
)

if TYPE_CHECKING:
    from kernelwright.languages import LanguageSupport
    from kernelwright.source.findings import Finding


@dataclass(frozen=True)
class Snapshot:
    uri: str
    path: str
    language_id: str
    version: int | None  # None for a file that is not open
    text: str
    encoding: PositionEncodingKind | str
    crlf: bool = False  # what the editor's lines end in; `text` itself has LF
    kept: KeptLines = ()  # workload lines that the journal keeps for the file
    parts: tuple["Snapshot", ...] = ()  # the documents of the text's pages where it is joined; this is the first one's

    @cached_property
    def hash(self) -> str:
        return digest(self.text)

    @cached_property
    def lines(self) -> positions.Lines:
        return positions.lines(self.text)

    @cached_property
    def support(self) -> "LanguageSupport":
        from kernelwright.languages import support_of

        if not self.kept:
            return support_of(self.language_id)
        from kernelwright.languages.kept import with_kept

        return with_kept(support_of(self.language_id), self.kept)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        return self.support.kernels(self.text)

    def kernels_near(self, lines: range) -> tuple[Kernel, ...]:
        """All kernels that stand on these lines or are launched there, and some more: sooner known than all of the file."""
        if "kernels" in self.__dict__:
            return self.kernels
        if lines not in self._near:
            self._near[lines] = self.support.kernels(self.text, lines)
        return self._near[lines]

    @cached_property
    def _near(self) -> dict[range, tuple[Kernel, ...]]:
        return {}

    @cached_property
    def findings(self) -> "tuple[Finding, ...]":
        return self.support.findings(self.text, self.kernels)

    @property
    def known_findings(self) -> "tuple[Finding, ...]":
        """The findings if they have been worked out already, otherwise none."""
        return self.findings if "findings" in self.__dict__ else ()

    def findings_near(self, where: Range) -> "tuple[Finding, ...]":
        """All findings on the lines of a range, and some more: right after typing sooner known than all of the file."""
        if "findings" in self.__dict__:
            return self.findings
        lines = range(where.start.line, where.end.line + 1)
        return self.support.findings(self.text, self.kernels_near(lines), lines)

    def replaced(self, text: str) -> "Snapshot":
        """The same document with another text, as it will be once the editor has made an edit."""
        parts = (part.replaced(page.text) for part, page in zip(self.parts, pages(text), strict=False))
        return dataclasses.replace(self, text=text, parts=tuple(parts))

    @property
    def own(self) -> "Snapshot":
        """The document alone."""
        return self.parts[0] if self.parts else self

    def with_first(self, first: "Snapshot") -> "Snapshot":
        """A joined text with another version of its first page."""
        text = with_texts(self.text, [first.text, *(part.text for part in self.parts[1:])])
        return dataclasses.replace(self, text=text, version=first.version, parts=(first, *self.parts[1:]))

    def page_at(self, line: int) -> tuple["Snapshot", int]:
        """The document of a line of the text, and the line there."""
        page = page_around(self.text, line)
        if self.parts:
            return self.parts[page_names(self.text).index(page.name)], line - page.line
        return self, line

    def edits(self, edits: Edits) -> tuple[tuple["Snapshot", Edits], ...]:
        """Edits of the text as those of the documents that they change."""
        if not self.parts:
            return ((self, edits),)
        from kernelwright.micro.edits import difference  # only where edits are made

        after = (page.text for page in pages(apply(edits, self.text)))
        changed = [(part, text) for part, text in zip(self.parts, after, strict=True) if part.text != text]
        return tuple((part, difference(part.text, text, edits.summary)) for part, text in changed)

    def kernel(self, name: str) -> Kernel | None:
        return next((kernel for kernel in self.kernels if kernel.name == name), None)

    def kernel_at(self, line: int) -> Kernel | None:
        """The innermost kernel around a line; a launching function belongs to the kernel that it launches."""
        kernels = self.kernels_near(range(line, line + 1))
        around = [kernel for kernel in kernels if kernel.start_line <= line < kernel.end_line]
        if around:
            return max(around, key=lambda kernel: kernel.start_line)
        return next((k for k in kernels if (k.entry_start_line or 0) <= line < (k.entry_end_line or 0)), None)

    def workload(self, kernel: Kernel) -> Workload | Refusal:
        """How the kernel is called, or why it cannot be."""
        return self.support.workload(self.text, kernel.entry)

    # Places, in the client's encoding

    def name_range(self, kernel: Kernel) -> Range:
        start = kernel.name_column
        return Range(self.at(kernel.name_line, start), self.at(kernel.name_line, start + len(kernel.name)))

    def at(self, line: int, column: int) -> Position:
        return self.lines.at(line, column, self.encoding)

    def range(self, start: int, end: int) -> Range:
        return self.lines.range(start, end, self.encoding)

    def lines_range(self, start_line: int, end_line: int) -> Range:
        """From the first line to the end of the last one, end-exclusive lines."""
        last = max(start_line, min(end_line, len(self.lines.starts)) - 1)
        return Range(self.at(start_line, 0), self.at(last, len(self.lines.line(last))))
