"""`kernelwright.record`: runs a test or script once, and writes the calls of kernels that it makes as workload lines."""

from lsprotocol.types import ExecuteCommandParams

from kernelwright.lsp import jobs
from kernelwright.lsp.commands.answers import declined
from kernelwright.lsp.commands.arguments import Arguments, arguments
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Refusal
from kernelwright.wire import Json, encode


async def callers(session: Session, params: ExecuteCommandParams) -> Json:
    """The paths of the tests and scripts that come to a file by their imports, the likeliest first.

    For a file without a kernel it is the file itself.
    """
    from kernelwright.lsp import recorded

    found = _meant(session, params)
    if isinstance(found, Refusal):
        return declined(session, found)
    return [str(path) for path in await recorded.callers_of(session, found[1])]


async def record(session: Session, params: ExecuteCommandParams) -> Json:
    """Runs `script`, and writes its calls of the file's kernels as workload lines; answers with each entry's lines.

    Where the file has no kernel it is the script, and lines go to the files that it comes to. Where no script is given and
    several come to the file, the person is asked. Stopping the run keeps what it has called by then.
    """
    from kernelwright import running
    from kernelwright.lsp import recorded

    found = _meant(session, params)
    plan = found if isinstance(found, Refusal) else await recorded.planned(session, found[1], found[0].script)
    if isinstance(plan, Refusal):
        return declined(session, plan)
    ran = await jobs.run(
        session,
        (str(plan.script), plan.name),
        f"Record workloads from {plan.name}",
        lambda report, cancel: running.run(
            session.settings, running.arguments_for(plan.script), plan.root, plan.entries, report, cancel
        ),
        lambda ran: running.told(ran, plan.name),
        params.work_done_token,
    )
    if isinstance(ran, Refusal):
        return declined(session, ran)
    refused = await recorded.write(session, plan, ran.found)
    if refused is not None or not any(one.lines for one in ran.found):
        return declined(session, refused or Refusal(running.told(ran, plan.name)))
    session.client.tell(running.told(ran, plan.name))
    return [encode(one) for one in ran.found]


def _meant(session: Session, params: ExecuteCommandParams) -> tuple[Arguments, Snapshot] | Refusal:
    asked = arguments(params)
    if isinstance(asked, Refusal):
        return asked
    snapshot = session.documents.get(asked.uri)
    if snapshot is None:
        return Refusal(f"{asked.uri} is not open in the editor; open it first.")
    return asked, snapshot
