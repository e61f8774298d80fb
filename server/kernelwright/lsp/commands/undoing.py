"""`kernelwright.revert` takes a step back; `kernelwright.resetBaseline` makes the text of now the one to judge against."""

from lsprotocol.types import ExecuteCommandParams

from kernelwright.lsp import applying, diagnostics
from kernelwright.lsp.commands.answers import declined
from kernelwright.lsp.commands.arguments import Subject, arguments, subject
from kernelwright.lsp.session import Session
from kernelwright.values import Outcome, Refusal
from kernelwright.wire import Json, encode


async def revert(session: Session, params: ExecuteCommandParams) -> Json:
    """Takes back the step that is named, or the last kept one of the kernel, with all that were taken after it."""
    asked = arguments(params)
    found = asked if isinstance(asked, Refusal) else subject(session, asked)
    if isinstance(found, Refusal):
        return declined(session, found)
    step = asked.step or _last_kept(session, found)
    if step is None:
        return declined(session, Refusal(f"{found.kernel.name} has no kept step that could be taken back."))
    snapshot = found.snapshot
    engine = session.engine(snapshot.path)
    reversal = engine.revert(snapshot.path, snapshot.text, step)
    if isinstance(reversal, Refusal):
        return declined(session, reversal)
    edits = reversal.edits
    refused = await applying.apply(session, snapshot.uri, edits, f"Kernelwright: {edits.summary}")
    if refused is not None:
        return declined(session, refused)
    engine.mark_reverted(snapshot.path, reversal.step_ids)
    session.learned()
    session.client.refresh()
    return encode(edits)


async def reset_baseline(session: Session, params: ExecuteCommandParams) -> Json:
    """True once the text is the new baseline; results against the old one are dropped."""
    asked = arguments(params)
    found = asked if isinstance(asked, Refusal) else subject(session, asked)
    if isinstance(found, Refusal):
        return declined(session, found)
    snapshot = found.snapshot
    engine = session.engine(snapshot.path)
    observed = engine.observe(snapshot.path, snapshot.text, found.kernel.name, found.kernel)
    if isinstance(observed, Refusal):
        return declined(session, observed)
    engine.reset_baseline(snapshot.path, snapshot.text, found.kernel.name)
    session.forget(snapshot.uri, found.kernel.name)
    session.learned()
    diagnostics.publish(session, snapshot.uri)
    session.client.tell(f"{found.kernel.name} is now judged against the text as it is.")
    return True


def _last_kept(session: Session, found: Subject) -> str | None:
    steps = session.engine(found.snapshot.path).history(found.snapshot.path, found.kernel.name)
    return next((step.id for step in reversed(steps) if step.outcome is Outcome.KEPT), None)
