"""`textDocument/publishDiagnostics` and `textDocument/diagnostic`: results of kernels, wrong workload lines, findings, and
compile errors of CUDA C++."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from kernelwright import words
from kernelwright.lsp import workload_fix
from kernelwright.lsp.results import Result
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.menu import title_of
from kernelwright.values import Check, Kernel, Outcome, Region

if TYPE_CHECKING:
    from kernelwright.source.findings import Finding

SOURCE = "kernelwright"

_DOCS = Path(__file__).parents[3] / "docs"
_SEVERITIES = {
    "warning": lsp.DiagnosticSeverity.Warning,
    "information": lsp.DiagnosticSeverity.Information,
    "hint": lsp.DiagnosticSeverity.Hint,
}
_MOST_CHECKS = 5  # failed checks shown one by one


def publish(session: Session, uri: str) -> None:
    """Sends what is to be said of a document now; a client that pulls is asked to do so."""
    snapshot = session.documents.get(uri)
    if snapshot is None:
        return
    session.client.refresh()
    if session.client.pulls:
        return
    found = of_snapshot(session, snapshot)
    session.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, snapshot.version))


def clear(session: Session, uri: str) -> None:
    session.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def pull(session: Session, params: lsp.DocumentDiagnosticParams) -> lsp.RelatedFullDocumentDiagnosticReport:
    snapshot = session.documents.get(params.text_document.uri)
    return lsp.RelatedFullDocumentDiagnosticReport(of_snapshot(session, snapshot) if snapshot else [])


def of_snapshot(session: Session, snapshot: Snapshot) -> list[lsp.Diagnostic]:
    results = [d for kernel in snapshot.kernels for d in of_kernel(session, snapshot, kernel)]
    remarks = [*_lacking(session, snapshot), *_findings(session, snapshot)] if session.settings.findings else []
    problems = [*_workload_problems(snapshot), *_compile_errors(session, snapshot), *_unread(snapshot)]
    return [*results, *problems, *remarks]


def of_kernel(session: Session, snapshot: Snapshot, kernel: Kernel) -> list[lsp.Diagnostic]:
    """What is known of a kernel, at its name."""
    known = session.result(snapshot, kernel)
    if known is None:
        return []
    result, stale = known
    place = snapshot.name_range(kernel)
    if stale:
        message = f"Stale: {kernel.name} was changed after it was verified; verify or measure it again."
        return [_diagnostic(place, lsp.DiagnosticSeverity.Warning, "stale", message)]
    if result.failure is not None and result.failure.lacks_something:
        message = f"{kernel.name} was not tried: {words.of_failure(result.failure)}"
        return [_diagnostic(place, lsp.DiagnosticSeverity.Warning, result.failure.kind.value, message)]
    if result.failure is not None and result.outcome is None:
        message = f"{kernel.name} could not be verified: {words.of_failure(result.failure)}"
        return [_diagnostic(place, lsp.DiagnosticSeverity.Error, result.failure.kind.value, message)]
    if result.outcome is Outcome.REJECTED:
        return [_rejected(session, snapshot, kernel, result, place)]
    if result.verdict is None:
        return []
    if result.verdict.passed:
        message = words.result(result.verdict, result.measurement, result.unmeasured)
        return [_diagnostic(place, lsp.DiagnosticSeverity.Information, result.strategy or "verified", message)]
    if not result.verdict.failed_checks:
        message = words.of_verdict(result.verdict)
        return [_diagnostic(place, lsp.DiagnosticSeverity.Warning, "not-checkable", message)]
    return [
        _diagnostic(
            place,
            lsp.DiagnosticSeverity.Error,
            check.name,
            _failed(kernel, check),
            _at_edit(session, snapshot, kernel, result),
        )
        for check in result.verdict.failed_checks[:_MOST_CHECKS]
    ]


def _rejected(session: Session, snapshot: Snapshot, kernel: Kernel, result: Result, place: lsp.Range) -> lsp.Diagnostic:
    """A step that was not kept: the file is as it was, so this is no error of the file."""
    title = title_of(result.strategy)
    wrong = result.verdict is not None and not result.verdict.passed
    if result.failure is not None:
        why = words.of_failure(result.failure)
    else:
        why = words.of_verdict(result.verdict) if result.verdict is not None and wrong else result.unmeasured
    severity = lsp.DiagnosticSeverity.Warning if wrong else lsp.DiagnosticSeverity.Information
    message = f"{title}: not kept, the file is unchanged. {why}"
    return _diagnostic(place, severity, result.strategy, message, _at_edit(session, snapshot, kernel, result))


def _failed(kernel: Kernel, check: Check) -> str:
    return f"{kernel.name} no longer does what its baseline does. {words.of_check(check)}"


def _at_edit(
    session: Session, snapshot: Snapshot, kernel: Kernel, result: Result
) -> list[lsp.DiagnosticRelatedInformation] | None:
    region: Region | None = result.region
    if region is None or not session.client.can("text_document.publish_diagnostics.related_information"):
        return None
    whole, _ = session.whole(snapshot, kernel)
    place, line = whole.page_at(region.start_line)
    where = place.lines_range(line, line + max(region.end_line - region.start_line, 1))
    said = f"{title_of(result.strategy)}{': ' + region.label if region.label else ''}"
    return [lsp.DiagnosticRelatedInformation(lsp.Location(place.uri, where), said)]


def _workload_problems(snapshot: Snapshot) -> list[lsp.Diagnostic]:
    return [
        _diagnostic(
            lsp.Range(snapshot.at(problem.line, problem.column), snapshot.at(problem.line, problem.end_column)),
            lsp.DiagnosticSeverity.Error,
            "workload",
            problem.message,
        )
        for problem in snapshot.support.workload_problems(snapshot.text)
    ]


def _unread(snapshot: Snapshot) -> list[lsp.Diagnostic]:
    return [
        _diagnostic(
            snapshot.lines_range(one.line or 0, (one.line or 0) + 1),
            lsp.DiagnosticSeverity.Information,
            "unread",
            one.reason,
        )
        for one in snapshot.support.unread(snapshot.text)
    ]


def _compile_errors(session: Session, snapshot: Snapshot) -> list[lsp.Diagnostic]:
    """What a compiler says; where a header was not found, that nothing behind it was looked at."""
    known = session.compiled.get(snapshot.uri)
    found: list[lsp.Diagnostic] = []
    for place, error in known.places(snapshot) if known is not None else ():
        if error.is_missing_file:
            severity, behind = lsp.DiagnosticSeverity.Information, " What follows was not compiled while you type."
            found.append(_diagnostic(place, severity, "missing-header", f"{error.message}.{behind}"))
        else:
            found.append(_diagnostic(place, lsp.DiagnosticSeverity.Error, "compile-error", f"{error.message}."))
    return found


def _lacking(session: Session, snapshot: Snapshot) -> list[lsp.Diagnostic]:
    """One hint for a file: hovers and lenses say it of each kernel."""
    lacking = workload_fix.lacking(snapshot)
    found = [one for one in lacking if workload_fix.lacks(*session.whole(snapshot, one[0])) is not None]
    if not found:
        return []
    first, reason = found[0]
    if len(found) > 1:
        others = f"{len(found)} kernels of this file have no workload, {first.name} for one."
        reason = (
            f"{others} `kernelwright record -- COMMAND` writes the lines of all that a test or script calls. {reason}"
        )
    return [_diagnostic(snapshot.name_range(first), lsp.DiagnosticSeverity.Hint, workload_fix.CODE, reason)]


def _findings(session: Session, snapshot: Snapshot) -> list[lsp.Diagnostic]:
    """Show those of the text, and what compiling its kernels has shown."""
    from kernelwright.source.findings.spilling import spilling

    known = snapshot.findings
    spills = (spilling(snapshot.text, kernel, session.resources(snapshot, kernel) or ()) for kernel in snapshot.kernels)
    of_text = [of_finding(snapshot, finding) for finding in (*known, *spills) if finding is not None]
    return [*of_text, *_indices(session, snapshot, known)]


def _indices(session: Session, snapshot: Snapshot, known: "Sequence[Finding]") -> list[lsp.Diagnostic]:
    """Show what z3 has found, but for lines of which a rule says the same, or what it comes from."""
    examined = session.indices.get(snapshot.uri)
    if examined is None:
        return []
    said = {(line, one.code) for one in known for line in range(one.start_line, one.end_line + 1)}
    return [
        _diagnostic(place, lsp.DiagnosticSeverity.Warning, remark.code, remark.message)
        for place, remark in examined.places(snapshot)
        if not {(place.start.line, remark.code), (place.start.line, "cuda.int32-index")} & said
    ]


def of_finding(snapshot: Snapshot, finding: "Finding") -> lsp.Diagnostic:
    place = snapshot.range(finding.start, finding.end)
    return _diagnostic(place, _SEVERITIES[finding.severity.value], finding.code, finding.message)


def _diagnostic(
    place: lsp.Range,
    severity: lsp.DiagnosticSeverity,
    code: str,
    message: str,
    related: list[lsp.DiagnosticRelatedInformation] | None = None,
) -> lsp.Diagnostic:
    return lsp.Diagnostic(
        place,
        message,
        severity,
        code,
        described(code),
        SOURCE,
        related_information=related,
    )


@cache
def described(code: str) -> lsp.CodeDescription | None:
    """A link to the section that explains a code, where the pages are at hand."""
    from kernelwright.macro.strategies import named
    from kernelwright.source.findings.rules import by_code
    from kernelwright.source.findings.spilling import CODE

    of_its_own = "strategies.md" if named(code) else "findings.md" if code == CODE or by_code(code) else ""
    page = _DOCS / (of_its_own or "protocol.md")
    section = code.replace(".", "") if of_its_own else "diagnostics-of-a-kernel"
    return lsp.CodeDescription(f"{page.as_uri()}#{section}") if page.is_file() else None
