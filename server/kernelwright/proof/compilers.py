"""Asks a compiler what it has against a text, in a process of its own: nothing of the text is run."""

import json

from kernelwright import wire
from kernelwright.proof.programs import answer
from kernelwright.proof.worker.toolchain.errors import CompileError

_PROGRAM = "kernelwright.proof.worker.toolchain.checking"
_PATIENCE = 60.0  # seconds


async def compile_errors(path: str, text: str, *, quick: bool) -> tuple[CompileError, ...] | None:
    """Find the compile errors of the CUDA C++ text of a file, which need not be saved.

    `quick` takes a fraction of a second, else it may take several. None where nothing here compiles the text, or not in
    time. Cancelling ends the compiler.
    """
    printed = await answer(_PROGRAM, (path, *(["quick"] if quick else [])), text, _PATIENCE)
    if printed is None:
        return None
    found: tuple[CompileError, ...] | None = wire.decode(tuple[CompileError, ...] | None, json.loads(printed))
    return found
