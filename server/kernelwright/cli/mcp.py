"""`kernelwright mcp`: the server for agents, in one folder."""

import sys
from collections.abc import Mapping
from pathlib import Path

from kernelwright.cli import console
from kernelwright.mistakes import BadInput, Lacking


def serve_agents(workspace: Path, interpreter: str | None, how: Mapping[str, object]) -> None:
    """Answer until the client is gone. Raises BadInput."""
    if not workspace.is_dir():
        raise BadInput(f"{workspace} is not a folder; name the folder of your project.")
    try:
        from kernelwright.mcp.server import serve
    except ModuleNotFoundError as error:
        missing = f"{(error.name or 'mcp').split('.')[0]} is not installed in {sys.executable}"
        raise Lacking(f"{missing}: install it there with pip install 'kernelwright[mcp]'.") from None
    serve(workspace.resolve(), console.settings_for(interpreter, **how))
