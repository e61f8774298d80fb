"""`textDocument/codeLens`: one quiet line above each kernel, with its last time and its side of the roofline."""

from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types as lsp

from kernelwright import callers, roof, words
from kernelwright.lsp import launched
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.lsp.workload_fix import lacks
from kernelwright.values import Accuracy, Kernel, Refusal

_ACTION, _OPTIMIZE = "Optimize kernel", "kernelwright.optimize"
_RECORD = "No workload: record one from a test or script", "kernelwright.record"
_RUN = "No workload: record one from the program's launches", "kernelwright.record"
_INFER = "No workload: write one that runs", "kernelwright.infer"


def code_lens(session: Session, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """One lens a kernel, still without its words; those of other files that this one launches are among them."""
    snapshot = session.documents.get(params.text_document.uri)
    if snapshot is None or not session.settings.code_lens:
        return []
    own = [lsp.CodeLens(snapshot.name_range(kernel), data=_data(snapshot, kernel)) for kernel in snapshot.kernels]
    return [*own, *(_at_launcher(snapshot, one) for one in launched.known_by_launcher(session, snapshot))]


def _at_launcher(snapshot: Snapshot, one: tuple[Snapshot, Kernel]) -> lsp.CodeLens:
    """A lens at what launches a kernel of another file."""
    line, (joined, kernel) = launched.launcher_lines(one).start, one
    title = f"{_ACTION} {kernel.name} of {Path(joined.path).name}"
    data = {"uri": snapshot.uri, "kernel": kernel.name, "title": title}
    return lsp.CodeLens(snapshot.lines_range(line, line + 1), data=data)


def _data(snapshot: Snapshot, kernel: Kernel) -> dict[str, str]:
    """What the kernel is; with `missing`, why it cannot be called, where it has no workload line."""
    missing = lacks(snapshot, kernel)
    return {"uri": snapshot.uri, "kernel": kernel.name, **({"missing": missing} if missing else {})}


async def resolve(session: Session, lens: lsp.CodeLens) -> lsp.CodeLens:
    """Its words and its command; those of a kernel that other files launch say where."""
    subject = dict(lens.data) if isinstance(lens.data, dict) else {}
    snapshot = session.documents.get(str(subject.get("uri", "")))
    kernel = snapshot.kernel(str(subject.get("kernel", ""))) if snapshot else None
    about = {"uri": subject.get("uri"), "kernel": subject.get("kernel"), "detached": True}
    if snapshot is None or kernel is None:
        title = str(subject.get("title", _ACTION))
        return lsp.CodeLens(lens.range, lsp.Command(title, _OPTIMIZE, arguments=[about]))
    places = [(site.function, site.file.name) for site in await launched.sites(session, snapshot, kernel)]
    if subject.get("missing") and lacks(*session.whole(snapshot, kernel)) is not None:
        return lsp.CodeLens(lens.range, lsp.Command(*_for_missing(snapshot, places), arguments=[about]))
    title = _title(session, snapshot, kernel, places)
    return lsp.CodeLens(lens.range, lsp.Command(title, _OPTIMIZE, arguments=[about]))


def _for_missing(snapshot: Snapshot, places: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """The title and the command that brings a workload line."""
    if places:
        return f"No workload: take one from {words.launched_by(places)}", "kernelwright.infer"
    if snapshot.support.id == "python":
        return _RECORD
    return _RUN if callers.is_program(Path(snapshot.path), snapshot.text) else _INFER


def _title(session: Session, snapshot: Snapshot, kernel: Kernel, places: Sequence[tuple[str, str]]) -> str:
    observation = session.observe(snapshot, kernel)
    measured = session.measurement(snapshot, kernel)
    time = f"{words.milliseconds(measured.candidate.median_ms)} ms" if measured is not None else ""
    known = session.result(snapshot, kernel) if time else None
    if known is not None and known[0].verdict is not None and known[0].verdict.accuracy is Accuracy.REDUCED:
        time += f", {Accuracy.REDUCED}"
    bound = "" if isinstance(observation, Refusal) else roof.short(observation, session.settings, measured)
    where = f"launched by {words.launched_by(places)}" if places else ""
    return " · ".join(part for part in (_ACTION, time, bound, where) if part)
