"""The language server: which method is answered by which module. Nothing heavy is loaded before `initialize` is answered."""

import functools
import gc
import logging
import signal
import sys

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from kernelwright import __version__
from kernelwright.languages import LANGUAGES
from kernelwright.lsp import code_action, code_lens, completion, hover, inlay_hint, language_model, lifecycle, stdio
from kernelwright.lsp.commands import COMMANDS, Command
from kernelwright.lsp.commands.arguments import is_detached
from kernelwright.lsp.protocol import Protocol
from kernelwright.lsp.session import Session
from kernelwright.lsp.sync import Sync

_FILES = lsp.FileOperationRegistrationOptions(
    [
        *(
            lsp.FileOperationFilter(lsp.FileOperationPattern(f"**/*{suffix}"), "file")
            for row in LANGUAGES.values()
            for suffix in row.suffixes
        ),
        lsp.FileOperationFilter(lsp.FileOperationPattern("**", lsp.FileOperationPatternKind.Folder), "file"),
    ]
)
_ACTIONS = lsp.CodeActionOptions(list(code_action.KINDS), resolve_provider=True)
_COMPLETIONS = lsp.CompletionOptions(trigger_characters=list(completion.TRIGGERS))
_LENSES = lsp.CodeLensOptions(resolve_provider=True)

FEATURES = (
    (lsp.INITIALIZE, lifecycle.initialize, None),
    (lsp.INITIALIZED, lifecycle.initialized, None),
    (lsp.SHUTDOWN, lifecycle.shut_down, None),
    (lsp.WORKSPACE_DID_CHANGE_CONFIGURATION, lifecycle.configuration_changed, None),
    (lsp.TEXT_DOCUMENT_HOVER, hover.hover, None),
    (lsp.TEXT_DOCUMENT_COMPLETION, completion.completion, _COMPLETIONS),
    (lsp.TEXT_DOCUMENT_CODE_ACTION, code_action.code_action, _ACTIONS),
    (lsp.CODE_ACTION_RESOLVE, code_action.resolve, None),
    (lsp.TEXT_DOCUMENT_CODE_LENS, code_lens.code_lens, _LENSES),
    (lsp.CODE_LENS_RESOLVE, code_lens.resolve, None),
    (lsp.TEXT_DOCUMENT_INLAY_HINT, inlay_hint.inlay_hint, None),
)
"""Method, handler taking the session and the parameters, options to register it with."""


def serve() -> None:
    """Runs the server on stdin and stdout until the client says exit."""
    # Our values hold no cycles; a full collection over a long file's kernels would stop a hover for 60 ms.
    gc.set_threshold(50_000, 20, 50)
    # A menu that a thread works out holds up an answer for as long each time that the loop wakes; Python's default is 5 ms.
    sys.setswitchinterval(0.001)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    logging.getLogger("pygls.protocol.json_rpc").setLevel(logging.ERROR)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that what is temporary is removed
    stdio.serve(build())


def build() -> LanguageServer:
    server = LanguageServer("kernelwright", __version__, protocol_cls=Protocol)
    session = Session(server)
    sync = Sync(session)
    features = (
        *((method, functools.partial(handler, session), options) for method, handler, options in FEATURES),
        (language_model.PART, functools.partial(language_model.part, session), None),
        (language_model.KEY, functools.partial(language_model.key, session), None),
        (lsp.TEXT_DOCUMENT_DID_OPEN, sync.opened, None),
        (lsp.TEXT_DOCUMENT_DID_CHANGE, sync.changed, None),
        (lsp.TEXT_DOCUMENT_DID_SAVE, sync.saved, None),
        (lsp.TEXT_DOCUMENT_DID_CLOSE, sync.closed, None),
        (lsp.WORKSPACE_DID_RENAME_FILES, sync.renamed, _FILES),
        (lsp.WORKSPACE_DID_DELETE_FILES, sync.deleted, _FILES),
    )
    for method, handler, options in features:
        server.feature(method, options)(functools.partial(handler))
    for name, command in COMMANDS.items():
        server.command(name)(functools.partial(_run, session, command))
    return server


async def _run(session: Session, command: Command, params: lsp.ExecuteCommandParams) -> object:
    """The answer of a command; None for a detached one, which goes on as long as it takes."""
    if params.work_done_token is None and is_detached(params):
        session.spawn(_settled(session, command, params))
        return None
    return await _settled(session, command, params)


async def _settled(session: Session, command: Command, params: lsp.ExecuteCommandParams) -> object:
    """A command right after the start would otherwise run with the defaults."""
    await session.settled()
    return await command(session, params)
