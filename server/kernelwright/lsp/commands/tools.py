"""`kernelwright.tool`: a tool for agents, run here for the editor's own agent on the files as they lie on the disk."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol.types import ExecuteCommandParams
from pygls.uris import from_fs_path, to_fs_path

from kernelwright.lsp import diagnostics, jobs, kept
from kernelwright.lsp.restoring import restore
from kernelwright.lsp.session import Session
from kernelwright.mistakes import BadInput
from kernelwright.values import Refusal, digest
from kernelwright.values.plain import plain
from kernelwright.wire import Json, encode, encode_object

if TYPE_CHECKING:
    from kernelwright.tools.asking import Told
    from kernelwright.tools.table import Row
    from kernelwright.tools.workspace import Workspace

_PATIENCE = 10.0  # seconds, for an editor to see that a file was written


async def tool(session: Session, params: ExecuteCommandParams) -> Json:
    """What the tool `name` answers to `arguments`, as `text` and `data`; a Refusal where it has no answer."""
    try:
        row, given = _meant(params)
        file = _file(given)
        workspace = _workspace(session, file)
    except BadInput as bad:
        return encode(Refusal(plain(str(bad))))
    uri = (from_fs_path(str(workspace.root / file)) or "") if "file" in given else ""
    answer = await jobs.run(
        session,
        (uri, str(given.get("kernel") or row.name)),
        f"{row.title} for an agent",
        lambda report, cancel: _asked(session, row, given, workspace, report, cancel),
        lambda answer: answer.reason if isinstance(answer, Refusal) else row.title,
        params.work_done_token,
    )
    if isinstance(answer, Refusal):
        return encode(answer)
    if row.writes:
        kept.reread(session)
    if row.writes and uri:
        session.spawn(_shown(session, uri, workspace.root / file))
    return encode_object(answer)


async def _asked(
    session: Session,
    row: "Row",
    given: dict[str, Any],
    workspace: "Workspace",
    report: jobs.Report,
    cancel: asyncio.Event,
) -> "Told[Any] | Refusal":
    from kernelwright.tools.asking import Asked, author

    try:
        return await row.run(asked=Asked(workspace, author(session.client.name), report, cancel), **given)
    except BadInput as bad:
        return Refusal(plain(str(bad)))


def _meant(params: ExecuteCommandParams) -> "tuple[Row, dict[str, Any]]":
    """The tool and what it is called with. Raises BadInput."""
    from kernelwright.tools.schema import arguments
    from kernelwright.tools.table import TOOLS

    asked = params.arguments[0] if params.arguments else None
    name = asked.get("name") if isinstance(asked, Mapping) else None
    row = next((row for row in TOOLS if row.name == name), None)
    if row is None or not isinstance(asked, Mapping):
        names = ", ".join(row.name for row in TOOLS)
        raise BadInput(f'{params.command} needs one argument, {{"name": …, "arguments": …}}, with one of {names}.')
    return row, arguments(row.run, asked.get("arguments", {}))


def _file(given: Mapping[str, Any]) -> str:
    """The file that the tool is about, or runs."""
    command = given.get("command") or ["", ""]
    return str(given.get("file") or command[min(1, len(command) - 1)].partition("::")[0])


def _workspace(session: Session, file: str) -> "Workspace":
    """The folder of the editor that a file is in. Raises BadInput."""
    from kernelwright.tools.workspace import Workspace

    folders = [to_fs_path(folder.uri) for folder in session.server.workspace.folders.values()]
    roots = [Path(folder).resolve() for folder in (*folders, session.server.workspace.root_path) if folder]
    if not roots:
        raise BadInput("No folder is open in the editor, and only files inside of one are looked at.")
    root = next((root for root in roots if (root / file).is_relative_to(root) and (root / file).exists()), roots[0])

    def unsaved(path: Path, text: str) -> bool:
        return any(
            Path(one.path).resolve() == path and one.text != text.replace("\r\n", "\n") for one in session.documents
        )

    return Workspace(root, session.engine(str(root / "_")), session.writing, unsaved=unsaved)


async def _shown(session: Session, uri: str, path: Path) -> None:
    """Show the evidence of a step in the editor once it has read the file again."""
    text = await asyncio.to_thread(path.read_text, encoding="utf-8")
    snapshot = await session.documents.wait_for_text(uri, digest(text), _PATIENCE)
    if snapshot is not None:
        restore(session, snapshot)
        diagnostics.publish(session, uri)
