"""One version of an open document, frozen, with what follows from its text worked out when first asked for."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lsprotocol.types import Position, PositionEncodingKind, Range

from kernelwright.lsp import positions
from kernelwright.values import Kernel, Refusal, Workload, digest

if TYPE_CHECKING:
    from kernelwright.source.document import Document
    from kernelwright.source.findings import Finding


@dataclass(frozen=True)
class Snapshot:
    uri: str
    path: str
    version: int
    text: str
    encoding: PositionEncodingKind | str
    crlf: bool = False  # what the editor's lines end in; `text` itself has LF

    @cached_property
    def hash(self) -> str:
        return digest(self.text)

    @cached_property
    def lines(self) -> positions.Lines:
        return positions.lines(self.text)

    @cached_property
    def document(self) -> "Document":
        from kernelwright.source.document import parse

        return parse(self.text)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        from kernelwright.source.kernels import find_kernels

        return find_kernels(self.document)

    def kernels_near(self, lines: range) -> tuple[Kernel, ...]:
        """All kernels that stand on these lines or are launched there, and some more: sooner known than all of the file."""
        from kernelwright.source.kernels import find_kernels

        if "kernels" in self.__dict__:
            return self.kernels
        if lines not in self._near:
            self._near[lines] = find_kernels(self.document, lines)
        return self._near[lines]

    @cached_property
    def _near(self) -> dict[range, tuple[Kernel, ...]]:
        return {}

    @cached_property
    def findings(self) -> "tuple[Finding, ...]":
        from kernelwright.source.findings import find_findings
        from kernelwright.source.workload import performance_calls

        return find_findings(self.document, self.kernels, performance_calls(self.text))

    @property
    def known_findings(self) -> "tuple[Finding, ...]":
        """The findings if they have been worked out already, otherwise none."""
        return self.__dict__.get("findings", ())

    def findings_near(self, where: Range) -> "tuple[Finding, ...]":
        """All findings on the lines of a range, and some more: right after typing sooner known than all of the file."""
        from kernelwright.source.findings import find_findings
        from kernelwright.source.workload import performance_calls

        if "findings" in self.__dict__:
            return self.findings
        lines = range(where.start.line, where.end.line + 1)
        return find_findings(self.document, self.kernels_near(lines), performance_calls(self.text), lines)

    def replaced(self, text: str) -> "Snapshot":
        """The same document with another text, as it will be once the editor has made an edit."""
        return Snapshot(self.uri, self.path, self.version, text, self.encoding, self.crlf)

    def kernel(self, name: str) -> Kernel | None:
        return next((kernel for kernel in self.kernels if kernel.name == name), None)

    def kernel_at(self, line: int) -> Kernel | None:
        """The innermost kernel around a line; a launching function belongs to the kernel that it launches."""
        kernels = self.kernels_near(range(line, line + 1))
        around = [kernel for kernel in kernels if kernel.start_line <= line < kernel.end_line]
        if around:
            return max(around, key=lambda kernel: kernel.start_line)
        launching = (k for k in kernels if k.entry_start_line is not None and k.entry_end_line is not None)
        return next((k for k in launching if k.entry_start_line <= line < k.entry_end_line), None)  # type: ignore[operator]

    def workload(self, kernel: Kernel) -> Workload | Refusal:
        """How the kernel is called, or why it cannot be."""
        from kernelwright.source.workload import find_workload

        return find_workload(self.text, kernel.entry)

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
