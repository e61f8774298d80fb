"""What z3 has told of the indices of one version of a document, and where that is in a later one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol.types import Range

from kernelwright.lsp.compiled import line_now
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Kernel

if TYPE_CHECKING:
    from kernelwright.indices.results import Checked, Indices, Remark


@dataclass(frozen=True)
class Examined:
    """Remarks, each with the text of its line; how many lines there were, and how far each kernel was checked as what text."""

    remarks: "tuple[tuple[Remark, str], ...]"
    kernels: "dict[str, Checked]"
    text_hash: str
    count: int

    @classmethod
    def of(cls, snapshot: Snapshot, found: "Indices") -> "Examined":
        lines = snapshot.lines
        count = len(lines.starts)
        remarks = tuple((one, lines.line(one.line)) for one in found.remarks if one.line < count)
        return cls(remarks, {one.kernel: one for one in found.kernels}, snapshot.hash, count)

    def places(self, snapshot: Snapshot) -> "Iterator[tuple[Range, Remark]]":
        """Find the remarks in a text that has been typed on: those whose line is as it was."""
        for remark, written in self.remarks:
            line = line_now(snapshot, remark.line, written, self.count)
            if line is not None:
                yield Range(snapshot.at(line, remark.column), snapshot.at(line, remark.end_column)), remark

    def checked(self, snapshot: Snapshot, kernel: Kernel) -> "Checked | None":
        """How far a kernel was checked; None where the text is another one by now."""
        return self.kernels.get(kernel.name) if self.text_hash == snapshot.hash else None
