"""`kernelwright.forgetLines`: the journal forgets the workload lines that a kernel is called with."""

from lsprotocol.types import ExecuteCommandParams

from kernelwright.lsp import kept, workload_fix
from kernelwright.lsp.commands.answers import declined
from kernelwright.lsp.commands.arguments import meant
from kernelwright.lsp.session import Session
from kernelwright.values import Refusal
from kernelwright.wire import Json


async def forget_lines(session: Session, params: ExecuteCommandParams) -> Json:
    """True once the journal keeps no workload lines of what runs the kernel; a Refusal where it keeps none."""
    asked_of = meant(session, params)
    if isinstance(asked_of, Refusal):
        return declined(session, asked_of)
    _, found = asked_of
    lines = workload_fix.kept_of(found.snapshot, found.kernel)
    if lines is None:
        return declined(session, Refusal(f"No workload line of {found.kernel.name} lies in the journal."))
    kept.forget(session, found.snapshot, lines[0])
    return True
