"""The editor at the other end: what it can do, and the messages that go to it."""

import asyncio
from typing import Any

from lsprotocol import types as lsp
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer


class Client:
    """Capabilities are read once, after the client has sent them; what it cannot do is left out or said another way."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.name = ""  # as it introduces itself
        self._known: dict[str, Any] = {}

    def can(self, capability: str) -> bool:
        """Whether the client declared a capability, by its dotted path: "window.work_done_progress"."""
        return bool(self.capability(capability))

    def capability(self, path: str) -> Any:
        if path not in self._known:
            self._known[path] = get_capability(self.server.client_capabilities, path)
        return self._known[path]

    @property
    def encoding(self) -> lsp.PositionEncodingKind | str:
        return self.server.server_capabilities.position_encoding or lsp.PositionEncodingKind.Utf16

    @property
    def pulls(self) -> bool:
        """Whether diagnostics wait for the client's request. Without a refresh it would not see a result when it comes."""
        return self.can("text_document.diagnostic") and self.can("workspace.diagnostics.refresh_support")

    def resolves(self, feature: str, name: str) -> bool:
        """Whether the client asks for the property `name` of an item later: resolves("code_action", "edit")."""
        return name in (self.capability(f"text_document.{feature}.resolve_support.properties") or ())

    @property
    def markdown(self) -> bool:
        return lsp.MarkupKind.Markdown in (self.capability("text_document.hover.content_format") or ())

    def tell(self, message: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
        self.server.window_show_message(lsp.ShowMessageParams(kind, message))

    def log(self, message: str, kind: lsp.MessageType = lsp.MessageType.Log) -> None:
        self.server.window_log_message(lsp.LogMessageParams(kind, message))

    async def ask(self, message: str, *answers: str) -> str | None:
        """The answer that the person chose; None for none, or from a client that shows no such request."""
        actions = [lsp.MessageActionItem(answer) for answer in answers]
        params = lsp.ShowMessageRequestParams(lsp.MessageType.Warning, message, actions)
        try:
            # Shielded: an answer that comes after the caller was cancelled would find a future that takes none.
            chosen = await asyncio.shield(self.server.window_show_message_request_async(params))
        except JsonRpcException:
            self.tell(message, lsp.MessageType.Warning)
            return None
        return chosen.title if chosen else None

    async def configuration(self, section: str) -> object:
        """The client's settings of a section; None when it has none or refuses to say."""
        items = [lsp.ConfigurationItem(section=section)]
        try:
            answer = await self.server.workspace_configuration_async(lsp.ConfigurationParams(items))
        except JsonRpcException:
            return None
        return answer[0] if answer else None

    def refresh(self) -> None:
        """Ask for code lenses, inlay hints and pulled diagnostics again, as far as the client takes part."""
        if self.can("workspace.code_lens.refresh_support"):
            self.server.workspace_code_lens_refresh(None)
        if self.can("workspace.inlay_hint.refresh_support"):
            self.server.workspace_inlay_hint_refresh(None)
        if self.pulls:
            self.server.workspace_diagnostic_refresh(None)
