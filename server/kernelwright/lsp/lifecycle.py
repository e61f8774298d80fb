"""Start, settings and end of a server."""

import contextlib
import functools

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from kernelwright.lsp import configuration, diagnostics
from kernelwright.lsp.session import Session
from kernelwright.settings import Settings


def initialize(session: Session, params: lsp.InitializeParams) -> None:
    """Pulled diagnostics are offered only to a client that can also be told when to pull, so that it sees each once."""
    session.client.name = params.client_info.name if params.client_info is not None else ""
    if session.client.pulls:
        options = lsp.DiagnosticOptions(
            inter_file_dependencies=False, workspace_diagnostics=False, identifier="kernelwright"
        )
        session.server.feature(lsp.TEXT_DOCUMENT_DIAGNOSTIC, options)(functools.partial(diagnostics.pull, session))
    if params.initialization_options is not None:
        _use(session, params.initialization_options)


async def initialized(session: Session, params: lsp.InitializedParams) -> None:
    if session.client.can("workspace.did_change_configuration.dynamic_registration"):
        options = lsp.DidChangeConfigurationRegistrationOptions(section=configuration.SECTION)
        registration = lsp.Registration("kernelwright-settings", lsp.WORKSPACE_DID_CHANGE_CONFIGURATION, options)
        with contextlib.suppress(JsonRpcException):  # then settings are those of the start
            await session.server.client_register_capability_async(lsp.RegistrationParams([registration]))
    await _ask(session)
    session.configured.set()


async def configuration_changed(session: Session, params: lsp.DidChangeConfigurationParams) -> None:
    """Clients that can be asked are asked; the others send their settings along."""
    if session.client.can("workspace.configuration"):
        await _ask(session)
    else:
        _use(session, params.settings)


async def shut_down(session: Session, params: None) -> None:
    await session.shut_down()


async def _ask(session: Session) -> None:
    if session.client.can("workspace.configuration"):
        _use(session, await session.client.configuration(configuration.SECTION))


def _use(session: Session, data: object) -> None:
    section = data.get(configuration.SECTION) if isinstance(data, dict) else None
    settings, problems = configuration.read(section if section is not None else data)
    session.use(settings)
    for problem in (*problems, *_unknown_strategies(settings)):
        session.client.tell(problem, lsp.MessageType.Warning)
    for snapshot in session.documents:
        diagnostics.publish(session, snapshot.uri)


def _unknown_strategies(settings: Settings) -> tuple[str, ...]:
    """A sentence where the settings switch off what there is not."""
    if not settings.disabled_strategies:
        return ()  # the strategies are loaded where they are needed
    from kernelwright.macro.strategies import choices, switched_off

    _, unknown = switched_off(settings.disabled_strategies)
    return tuple(
        f"{configuration.SECTION}.disabledStrategies names {name!r}, which there is not; choose from {choices()}."
        for name in unknown
    )
