"""`kernelwright.replay`: the kept steps of a kernel once more, after its text has changed."""

from lsprotocol.types import ExecuteCommandParams

from kernelwright.lsp.commands.series import take
from kernelwright.lsp.session import Session
from kernelwright.wire import Json


async def replay(session: Session, params: ExecuteCommandParams) -> Json:
    """All Steps taken, in order: the kept ones again, as far as they fit the text; a message says which do not, and why."""
    return await take(session, params, "replay", lambda engine, *how: engine.replay(*how))
