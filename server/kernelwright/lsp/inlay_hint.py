"""`textDocument/inlayHint`: registers, shared memory and occupancy at a Triton kernel's signature."""

from lsprotocol import types as lsp

from kernelwright.lsp import diagnostics
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Failure, Kernel, Language, Refusal, Resources


def inlay_hint(session: Session, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """Hints for what has been compiled; the rest is compiled in the background and asked for again when it is there."""
    snapshot = session.documents.get(params.text_document.uri)
    if snapshot is None or not session.settings.inlay_hints:
        return []
    wanted = range(params.range.start.line, params.range.end.line + 1)
    kernels = [k for k in snapshot.kernels if k.language is Language.TRITON and k.name_line in wanted]
    hints: list[lsp.InlayHint] = []
    for kernel in kernels:
        found = session.resources(snapshot, kernel)
        if found is None:
            session.remember_resources(snapshot, kernel, ())  # asked once for each version of the kernel
            session.spawn(_compile(session, snapshot, kernel))
        hints += [_hint(snapshot, kernel, resources) for resources in found or () if resources.kernel == kernel.name]
    return hints


async def _compile(session: Session, snapshot: Snapshot, kernel: Kernel) -> None:
    observation = session.observe(snapshot, kernel)
    if isinstance(observation, Refusal):
        return
    answer = await session.engine(snapshot.path).resources(observation)
    if not isinstance(answer, Refusal | Failure):
        session.remember_resources(snapshot, kernel, answer.resources)
        diagnostics.publish(session, snapshot.uri)  # for spills; it has the hints asked for again as well


def _hint(snapshot: Snapshot, kernel: Kernel, resources: Resources) -> lsp.InlayHint:
    end = len(snapshot.lines.line(kernel.name_line))
    spills = f", {resources.spill_bytes} B spilled" if resources.spill_bytes else ""
    label = (
        f"{resources.registers} registers{spills}, {resources.shared_bytes / 1024:.3g} KiB shared, "
        f"{resources.occupancy:.0%} occupancy"
    )
    tooltip = (
        f"sm_{resources.compute_capability}, num_warps={resources.num_warps}, num_stages={resources.num_stages}; "
        f"occupancy is limited by {resources.limited_by}"
    )
    return lsp.InlayHint(snapshot.at(kernel.name_line, end), label, tooltip=tooltip, padding_left=True)
