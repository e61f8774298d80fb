"""`kernelwright.profile`: what one warm call of a kernel launches, for a person in one line and for a client as a value."""

from lsprotocol.types import ExecuteCommandParams

from kernelwright import words
from kernelwright.lsp import jobs
from kernelwright.lsp.commands.answers import declined, offered_again, sentence
from kernelwright.lsp.commands.arguments import arguments, whole
from kernelwright.lsp.session import Session
from kernelwright.values import Failure, ProfileResult, Refusal
from kernelwright.wire import Json, encode_object


async def profile(session: Session, params: ExecuteCommandParams) -> Json:
    """A ProfileResult: the kernels of one warm call with launches, time and origin; with `sentence`, its line in words."""
    asked = arguments(params)
    found = await whole(session, asked)
    if isinstance(asked, Refusal):
        return declined(session, asked)
    if isinstance(found, Refusal):
        return declined(session, found)
    from kernelwright.profiling import profile as run

    snapshot, kernel = found.snapshot, found.kernel
    engine = session.engine(snapshot.path)
    answer = await jobs.run(
        session,
        found.key,
        f"Profile {kernel.name}",
        lambda report, cancel: run(
            engine, snapshot.path, snapshot.text, kernel.name, support=snapshot.support, report=report, cancel=cancel
        ),
        _told,
        params.work_done_token,
        outdated=found.outdated,
    )
    if isinstance(answer, jobs.MovedOn):
        return await offered_again(session, answer, "the profile", lambda: profile(session, params))
    if not isinstance(answer, ProfileResult):
        return declined(session, answer)
    if not asked.quiet:
        session.client.tell(f"{kernel.name}: {_told(answer)}")
    return {**encode_object(answer), "sentence": _told(answer)}


def _told(answer: ProfileResult | Refusal | Failure) -> str:
    return words.of_profile(answer) if isinstance(answer, ProfileResult) else sentence(answer)
