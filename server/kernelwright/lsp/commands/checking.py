"""`kernelwright.verify` and `kernelwright.measure`: the text as it is now, against its baseline."""

from typing import TYPE_CHECKING

from lsprotocol.types import ExecuteCommandParams, ProgressToken

from kernelwright import words
from kernelwright.lsp import diagnostics, jobs
from kernelwright.lsp.commands.answers import declined, offered_again, sentence
from kernelwright.lsp.commands.arguments import Subject, arguments, whole
from kernelwright.lsp.results import Result, code_of, with_verdict
from kernelwright.lsp.session import Session
from kernelwright.values import Failure, FailureKind, Refusal
from kernelwright.wire import Json, encode

if TYPE_CHECKING:
    from kernelwright.proof.jobs import TrialResult


async def verify(session: Session, params: ExecuteCommandParams) -> Json:
    """A TrialResult without a measurement; a Refusal where no baseline is known."""
    return await _command(session, params, measure=False)


async def measure(session: Session, params: ExecuteCommandParams) -> Json:
    """A TrialResult, or a Refusal as `verify` gives; nothing is measured that does not verify."""
    return await _command(session, params, measure=True)


async def _command(session: Session, params: ExecuteCommandParams, *, measure: bool) -> Json:
    found = await whole(session, arguments(params))
    if isinstance(found, Refusal):
        return declined(session, found)
    answer = await check(session, found, measure=measure, token=params.work_done_token)
    if isinstance(answer, jobs.MovedOn):
        again = lambda: _command(session, params, measure=measure)
        return await offered_again(session, answer, "the measurement" if measure else "the verification", again)
    return declined(session, answer) if isinstance(answer, Refusal | Failure) else encode(answer)


async def check(
    session: Session, about: Subject, *, measure: bool, token: ProgressToken | None = None, background: bool = False
) -> "TrialResult | Refusal | Failure":
    """Runs the trial and shows what came of it at the kernel. A worker's failure is shown there too.

    What nobody asked for runs in the `background`: what a person asks for goes first.
    """
    from kernelwright.proof.client import Priority

    snapshot, kernel = about.snapshot, about.kernel
    engine = session.engine(snapshot.path)
    answer = await jobs.run(
        session,
        about.key,
        f"{'Measure' if measure else 'Verify'} {kernel.name}",
        lambda report, cancel: engine.trial(
            snapshot.path,
            snapshot.text,
            kernel.name,
            measure=measure,
            support=snapshot.support,
            priority=Priority.BACKGROUND if background else Priority.REQUEST,
            report=report,
            cancel=cancel,
        ),
        _told,
        token,
        outdated=about.outdated,
        background=background,
    )
    if isinstance(answer, Refusal) or (isinstance(answer, Failure) and answer.kind is FailureKind.CANCELLED):
        return answer
    code = code_of(snapshot.text, kernel, snapshot.kernels)
    if isinstance(answer, Failure):
        result = Result(kernel.name, code, snapshot.hash, failure=answer)
    else:
        result = Result(
            kernel.name,
            code,
            snapshot.hash,
            verdict=answer.verdict,
            measurement=answer.measurement,
            unmeasured=answer.unmeasured if measure else "only its correctness was asked for",
        )
    known = session.result(snapshot, kernel)
    session.remember(snapshot.uri, with_verdict(known[0] if known else None, result))
    diagnostics.publish(session, snapshot.uri)
    return answer


def _told(answer: "TrialResult | Refusal | Failure") -> str:
    if isinstance(answer, Refusal | Failure):
        return sentence(answer)
    return words.result(answer.verdict, answer.measurement, answer.unmeasured)
