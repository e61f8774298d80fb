"""What the journal knows of a file that is opened: a step whose very text is on the screen still holds."""

from kernelwright.lsp import results
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Outcome


def restore(session: Session, snapshot: Snapshot) -> None:
    if not snapshot.kernels:
        return
    for step in session.engine(snapshot.path).history(snapshot.path):
        kernel = snapshot.kernel(step.kernel)
        if kernel is not None and step.outcome is Outcome.KEPT and step.after_hash == snapshot.hash:
            code = results.code_of(snapshot.text, kernel, snapshot.kernels)
            session.remember(snapshot.uri, results.of_step(step, code))
