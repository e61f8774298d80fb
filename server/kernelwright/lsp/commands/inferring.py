"""`kernelwright.infer`: workload lines for what launches a kernel, guessed, tried, and written where they ran."""

from lsprotocol.types import ExecuteCommandParams

from kernelwright.lsp import applying, jobs, kept, workload_fix
from kernelwright.lsp.commands.answers import declined, offered_again, sentence
from kernelwright.lsp.commands.arguments import meant
from kernelwright.lsp.session import Session
from kernelwright.values import Failure, Refusal
from kernelwright.wire import Json, encode_object


async def infer(session: Session, params: ExecuteCommandParams) -> Json:
    """An Inferred: the workload lines that ran, which the file, or the journal, has now; a Refusal where no guess ran."""
    from kernelwright.inferring import Inferred

    asked_of = meant(session, params)
    if isinstance(asked_of, Refusal):
        return declined(session, asked_of)
    _, found = asked_of
    snapshot, kernel = found.snapshot, found.kernel
    entry = kernel.entry or kernel.name
    engine = session.engine(snapshot.path)

    def told(answer: Inferred | Refusal | Failure) -> str:
        return answer.sentence(entry) if isinstance(answer, Inferred) else sentence(answer)

    answer = await jobs.run(
        session,
        found.key,
        f"Write a workload line for {entry}",
        lambda report, cancel: engine.infer(
            snapshot.path, snapshot.text, kernel.name, support=snapshot.support, report=report, cancel=cancel
        ),
        told,
        params.work_done_token,
        outdated=lambda now: applying.outdated(now, snapshot.hash),
    )
    if isinstance(answer, jobs.MovedOn):
        return await offered_again(session, answer, "the search for a workload line", lambda: infer(session, params))
    if not isinstance(answer, Inferred):
        return declined(session, answer)
    if not answer.lines:
        return declined(session, Refusal(told(answer)))
    if session.settings.recorded_workloads == "journal":
        calls = [line.removeprefix(snapshot.support.workload_sign) for line in answer.lines]
        refused = kept.keep(session, [(snapshot, calls)])
    else:
        edits = workload_fix.above(snapshot, kernel, answer.lines)
        refused = await applying.apply(session, snapshot.uri, edits, f"Kernelwright: {told(answer)}")
    return declined(session, refused) if refused is not None else encode_object(answer)
