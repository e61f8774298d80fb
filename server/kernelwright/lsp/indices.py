"""What z3 finds out about the indices of CUDA kernels in a document: asked when it is opened and after a pause in typing."""

from kernelwright.lsp import diagnostics
from kernelwright.lsp.examined import Examined
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Language


async def examine(session: Session, snapshot: Snapshot) -> None:
    """Ask about all kernels of CUDA C++ of the document that have workloads, and publish what was found."""
    kernels = tuple(kernel for kernel in snapshot.kernels if kernel.language is Language.CUDA)
    if not kernels:
        return
    from kernelwright.examining import examined

    found = await examined(snapshot.support, snapshot.text, kernels)
    now = session.documents.get(snapshot.uri)
    if now is not None and now.kept != snapshot.kept:
        await examine(session, now)  # for the calls of the lines that the journal has by now
    elif now is not None:
        before = session.indices.get(snapshot.uri)
        session.indices[snapshot.uri] = Examined.of(snapshot, found)
        if found.remarks or (before is not None and before.remarks):
            diagnostics.publish(session, snapshot.uri)
