"""`kernelwright.autopilot`: the best next step, again and again."""

from lsprotocol.types import ExecuteCommandParams

from kernelwright.lsp.commands.series import take
from kernelwright.lsp.session import Session
from kernelwright.wire import Json


async def autopilot(session: Session, params: ExecuteCommandParams) -> Json:
    """All Steps taken, in order."""
    return await take(session, params, "autopilot", lambda engine, *how: engine.autopilot(*how))
