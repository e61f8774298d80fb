"""`kernelwright.export`: a kept step as one script that runs without Kernelwright."""

from lsprotocol.types import ExecuteCommandParams

from kernelwright.lsp.commands.answers import declined
from kernelwright.lsp.commands.arguments import arguments
from kernelwright.lsp.session import Session
from kernelwright.values import Refusal
from kernelwright.wire import Json


async def export(session: Session, params: ExecuteCommandParams) -> Json:
    """A script, or a program of CUDA C++, that compares and times the step named, or the last kept one, and its baseline."""
    asked = arguments(params)
    if isinstance(asked, Refusal):
        return declined(session, asked)
    snapshot = session.documents.get(asked.uri)
    if snapshot is None:
        return declined(session, Refusal(f"{asked.uri} is not open in the editor; open it first."))
    script = session.engine(snapshot.path).script(snapshot.path, asked.step, asked.kernel)
    return declined(session, script) if isinstance(script, Refusal) else script
