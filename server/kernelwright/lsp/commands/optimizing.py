"""`kernelwright.optimize` and `kernelwright.apply`: one step, verified and measured before it reaches the editor."""

from lsprotocol.types import ExecuteCommandParams, MessageType, ProgressToken

from kernelwright import words
from kernelwright.lsp import applying, diagnostics, jobs, results
from kernelwright.lsp.commands.answers import declined, offered_again, sentence
from kernelwright.lsp.commands.arguments import Arguments, arguments, whole
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.lsp.undone import undone
from kernelwright.menu import title_of
from kernelwright.values import Failure, FailureKind, Outcome, Refusal, Step, apply
from kernelwright.wire import Json, encode


async def optimize(session: Session, params: ExecuteCommandParams) -> Json:
    """The next step of a kernel; the policy chooses, unless a strategy is named."""
    asked = arguments(params)
    if isinstance(asked, Refusal):
        return declined(session, asked)
    return await _step(session, asked, params.work_done_token)


async def apply_strategy(session: Session, params: ExecuteCommandParams) -> Json:
    """One step of the strategy that is named."""
    asked = arguments(params)
    if not isinstance(asked, Refusal) and asked.strategy is None:
        asked = Refusal('kernelwright.apply needs a strategy: {"uri": …, "strategy": …}.')
    if isinstance(asked, Refusal):
        return declined(session, asked)
    return await _step(session, asked, params.work_done_token)


async def _step(session: Session, asked: Arguments, token: ProgressToken | None) -> Json:
    found = await whole(session, asked)
    if isinstance(found, Refusal):
        return declined(session, found)
    from kernelwright.engine import Request

    snapshot = found.snapshot
    engine = session.engine(snapshot.path)
    request = Request(snapshot.path, snapshot.text, found.kernel.name, asked.strategy, support=snapshot.support)
    answer = await jobs.run(
        session,
        found.key,
        f"Optimize {found.kernel.name}",
        lambda report, cancel: engine.optimize(request, report, cancel),
        told,
        token,
        outdated=lambda now: applying.moved_on(session, snapshot, now),
    )
    if isinstance(answer, Step):
        refused = await show(session, snapshot, answer, preview=asked.preview)
        if refused is None:
            return encode(answer)
    elif isinstance(answer, jobs.MovedOn):
        refused = Refusal(answer.reason)
    else:
        return declined(session, answer)
    if asked.preview or session.documents.get(snapshot.uri) is None:
        return declined(session, refused)
    return await offered_again(session, refused, "the step", lambda: _step(session, asked, token))


async def show(session: Session, made_for: Snapshot, step: Step, *, preview: bool = False) -> Refusal | None:
    """Applies a kept step and shows its evidence; a rejected one is only shown. Says why if the text had moved on."""
    if step.failure is not None and step.failure.kind is FailureKind.CANCELLED:
        return None
    if step.outcome is not Outcome.KEPT or step.edits is None:
        _remember(session, made_for, step)
        session.client.tell(told(step), MessageType.Info if step.failure is None else MessageType.Warning)
        if step.failure is not None and step.failure.detail:
            session.client.log(step.failure.detail)
        return None
    label = f"Kernelwright: {title(step)}"
    session.offered.add(step.id)
    try:
        refused = await applying.apply_whole(session, made_for, step.edits, label, preview=preview)
    finally:
        session.offered.discard(step.id)
    if refused is not None:  # the step is not in the file, so the journal must not say so
        session.engine(made_for.path).mark_reverted(made_for.path, (step.id,))
        session.notice()
        return refused
    engine = session.engine(made_for.path)
    engine.mark_reverted(made_for.path, (gone.id for gone in undone(engine.history(made_for.path), step.after_hash)))
    _remember(session, made_for.replaced(apply(step.edits, made_for.text)), step)
    return None


def told(answer: Step | Refusal | Failure) -> str:
    return words.of_step(answer, title(answer)) if isinstance(answer, Step) else sentence(answer)


def title(step: Step) -> str:
    return title_of(step.action.strategy)


def _remember(session: Session, about: Snapshot, step: Step) -> None:
    """`about` has the text that the evidence is of."""
    kernel = about.kernel(step.kernel)
    if kernel is not None:
        session.remember(about.uri, results.of_step(step, results.code_of(about.text, kernel, about.kernels)))
    diagnostics.publish(session, about.uri)
