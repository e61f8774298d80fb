"""The commands of `workspace/executeCommand`: what the user asks for by name, run as jobs with progress."""

from collections.abc import Awaitable, Callable

from lsprotocol.types import ExecuteCommandParams

from kernelwright.lsp.commands import (
    autopilot,
    checking,
    exporting,
    forgetting,
    inferring,
    optimizing,
    profiling,
    recording,
    replaying,
    reporting,
    tools,
    undoing,
)
from kernelwright.lsp.session import Session

Command = Callable[[Session, ExecuteCommandParams], Awaitable[object]]

COMMANDS: dict[str, Command] = {
    "kernelwright.optimize": optimizing.optimize,
    "kernelwright.apply": optimizing.apply_strategy,
    "kernelwright.verify": checking.verify,
    "kernelwright.measure": checking.measure,
    "kernelwright.profile": profiling.profile,
    "kernelwright.record": recording.record,
    "kernelwright.callers": recording.callers,
    "kernelwright.infer": inferring.infer,
    "kernelwright.forgetLines": forgetting.forget_lines,
    "kernelwright.autopilot": autopilot.autopilot,
    "kernelwright.replay": replaying.replay,
    "kernelwright.revert": undoing.revert,
    "kernelwright.resetBaseline": undoing.reset_baseline,
    "kernelwright.history": reporting.history,
    "kernelwright.export": exporting.export,
    "kernelwright.doctor": reporting.doctor,
    "kernelwright.tool": tools.tool,
}
