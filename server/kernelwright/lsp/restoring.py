"""What the journal knows of a file that is opened: a step whose very text is on the screen still holds."""

from kernelwright.lsp import diagnostics, launched, results
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Kernel, Outcome, Step


def restore(session: Session, snapshot: Snapshot) -> None:
    """Remember the steps that led to a document's text; those that led to it and to what launches its kernels later on."""
    if not snapshot.kernels:
        return
    for step in session.engine(snapshot.path).history(snapshot.path):
        kernel = snapshot.kernel(step.kernel)
        if kernel is None or step.outcome is not Outcome.KEPT:
            continue
        if step.after_hash == snapshot.hash:
            _remember(session, snapshot, kernel, step)
        elif launched.is_launched_elsewhere(kernel):
            session.spawn(_restore_joined(session, snapshot, kernel, step))


async def _restore_joined(session: Session, snapshot: Snapshot, kernel: Kernel, step: Step) -> None:
    found = await launched.joined(session, snapshot, kernel)
    if isinstance(found, tuple) and found[0].hash == step.after_hash:
        _remember(session, *found, step)
        diagnostics.publish(session, snapshot.uri)


def _remember(session: Session, snapshot: Snapshot, kernel: Kernel, step: Step) -> None:
    session.remember(snapshot.uri, results.of_step(step, results.code_of(snapshot.text, kernel, snapshot.kernels)))
