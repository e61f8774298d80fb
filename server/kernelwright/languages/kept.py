"""A language with the workload lines that the journal keeps for a file, read as if they stood at the end of its text."""

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from kernelwright.languages.support import LanguageSupport, Unit
from kernelwright.source.workload.lines import by_entry, entry_of
from kernelwright.values import KeptLines, Kernel, Refusal, Workload, WorkloadSource, digest

if TYPE_CHECKING:
    from kernelwright.source.findings import Finding


def with_kept(support: LanguageSupport, lines: KeptLines) -> LanguageSupport:
    """The language with `lines`, and none that it had before. What stands in a text wins: no line is added beside its own."""
    own = support.support if isinstance(support, _WithKept) else support
    return cast(LanguageSupport, _WithKept(own, lines)) if lines else own


def kept_by(support: LanguageSupport) -> KeptLines:
    """The lines of the journal that a language has."""
    return support.lines if isinstance(support, _WithKept) else ()


def written(support: LanguageSupport, text: str) -> str:
    """The text with the lines of the journal at its end, where nothing else changes its place."""
    return _written(support, text) if isinstance(support, _WithKept) else text


@dataclass(frozen=True)
class _WithKept:
    """Answers as `support` does, with `lines` wherever a workload counts. Places and edits are those of the text itself."""

    support: LanguageSupport
    lines: KeptLines

    def __getattr__(self, name: str) -> Any:
        return getattr(self.support, name)

    def kernels(self, text: str, lines: range | None = None) -> tuple[Kernel, ...]:
        return self.support.kernels(_written(self, text), lines)

    def unit(self, text: str, kernel: Kernel) -> Unit:
        """With the lines where a template is compiled for the arguments that they give."""
        unit = self.support.unit(text, kernel)
        if not any("<" in line.partition("<<<")[0] for _, calls in self.lines for line in calls):
            return unit
        called = self.support.unit(_written(self, text), kernel)
        return replace(unit, checked=called.checked, cut=called.cut)

    def findings(self, text: str, kernels: tuple[Kernel, ...], lines: range | None = None) -> "tuple[Finding, ...]":
        return tuple(_of(text, one) for one in self.support.findings(_written(self, text), kernels, lines))

    def workload(self, text: str, entry: str | None) -> Workload | Refusal:
        found = self.support.workload(_written(self, text), entry)
        if not isinstance(found, Workload) or found.source is not WorkloadSource.LINES:
            return found
        kept = any(case.line > text.count("\n") for case in found.cases)
        return replace(found, source=WorkloadSource.JOURNAL) if kept else found


@functools.lru_cache(maxsize=8)
def _written(kept: _WithKept, text: str) -> str:
    own, sign = by_entry(kept.support.workload_lines(text)), kept.support.workload_sign
    lines = ((entry, line) for entry, calls in kept.lines if entry not in own for line in calls)
    added = (line for entry, line in lines if entry_of(line) == entry and len(line.splitlines()) == 1)
    return "".join((text, *(f"\n{sign}{line}" for line in added)))


def _of(text: str, finding: "Finding") -> "Finding":
    """A finding whose edits are of the text itself."""
    if finding.fix is None:
        return finding
    edits = replace(finding.fix.edits, text_hash=digest(text))
    return replace(finding, fix=replace(finding.fix, edits=edits))
