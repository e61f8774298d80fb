"""`kernelwright.revert` takes a step back; `kernelwright.resetBaseline` makes the text of now the one to judge against."""

from lsprotocol.types import ExecuteCommandParams

from kernelwright.lsp import applying, diagnostics
from kernelwright.lsp.commands.answers import declined
from kernelwright.lsp.commands.arguments import arguments, whole
from kernelwright.lsp.session import Session
from kernelwright.lsp.undone import standing, undone
from kernelwright.values import Refusal
from kernelwright.wire import Json, encode


async def revert(session: Session, params: ExecuteCommandParams) -> Json:
    """Takes back the step that is named, or the last kept one of the kernel, with all that were taken after it."""
    asked = arguments(params)
    found = await whole(session, asked)
    if isinstance(asked, Refusal):
        return declined(session, asked)
    if isinstance(found, Refusal):
        return declined(session, found)
    snapshot = found.snapshot
    engine = session.engine(snapshot.path)
    steps = engine.history(snapshot.path)
    gone = undone(steps, snapshot.hash)
    left = [step.id for step in standing(steps, snapshot.hash) if step.kernel == found.kernel.name]
    own = [step.id for step in gone if step.kernel == found.kernel.name]
    if asked.step in own or (asked.step is None and own and not left):
        engine.mark_reverted(snapshot.path, (step.id for step in gone))
        session.notice()
        session.client.refresh()
        said = "The editor's undo has taken this step back already; now the history says so too."
        return declined(session, Refusal(said))
    step = asked.step or (left[-1] if left else None)
    if step is None:
        return declined(session, Refusal(f"{found.kernel.name} has no kept step that could be taken back."))
    reversal = engine.revert(snapshot.path, snapshot.text, step)
    if isinstance(reversal, Refusal):
        return declined(session, reversal)
    edits = reversal.edits
    refused = await applying.apply_whole(session, snapshot, edits, f"Kernelwright: {edits.summary}")
    if refused is not None:
        return declined(session, refused)
    engine.mark_reverted(snapshot.path, reversal.step_ids)
    session.notice()
    session.client.refresh()
    return encode(edits)


async def reset_baseline(session: Session, params: ExecuteCommandParams) -> Json:
    """True once the text is the new baseline; results against the old one are dropped."""
    found = await whole(session, arguments(params))
    if isinstance(found, Refusal):
        return declined(session, found)
    snapshot = found.snapshot
    engine = session.engine(snapshot.path)
    observed = engine.observe(snapshot.path, snapshot.text, found.kernel.name, found.kernel, snapshot.support)
    if isinstance(observed, Refusal):
        return declined(session, observed)
    engine.reset_baseline(snapshot.path, snapshot.text, found.kernel.name)
    session.forget(snapshot.uri, found.kernel.name)
    session.notice()
    diagnostics.publish(session, snapshot.uri)
    session.client.tell(f"{found.kernel.name} is now judged against the text as it is.")
    return True
