"""The protocol under pygls, with three of its choices replaced: who owns the texts, how commands get their arguments, and
what becomes of messages that cannot be read."""

import logging
from collections.abc import Generator
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

_PYGLS = logging.getLogger("pygls.protocol.json_rpc")
_UNREADABLE = object()


class Protocol(LanguageServerProtocol):
    """Texts belong to the session: pygls' own copy splits lines on form feeds and costs a second pass over the text."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """The typed message. One that cannot be read is answered with an error where it is a request, and left out.

        pygls answers nothing there, and shows a window for each.
        """
        _PYGLS.disabled = True  # it logs a traceback of fifty lines
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            said = f"{data.get('method', 'A response')} cannot be read: its parameters are not those of the protocol."
            logging.getLogger(__name__).warning(said)
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=JsonRpcInvalidParams(said).to_response_error())
            elif "id" in data:
                self._handle_response(data["id"], None, error.to_response_error())
            return _UNREADABLE
        finally:
            _PYGLS.disabled = False

    def handle_message(self, message: Any) -> None:
        if message is _UNREADABLE:
            return
        if not hasattr(message, "jsonrpc"):
            logging.getLogger(__name__).warning("A message that is none of JSON-RPC was left out.")
            return
        super().handle_message(message)

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Generator[Any, Any, None]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Generator[Any, Any, None]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # type: ignore[override]
        self, params: types.ExecuteCommandParams
    ) -> Any:
        """Run a command in the task that belongs to the request, so that `$/cancelRequest` cancels it.

        pygls' own version is a generator whose handler runs in another task: a cancel answers the request, and the
        handler goes on. It also loses the progress token, so the whole request is handed over here.
        """
        if (handler := self.fm.commands.get(params.command)) is None:
            raise JsonRpcInvalidParams.of(ValueError(f"There is no command {params.command!r}."))
        return await handler(params)
