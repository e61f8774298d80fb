"""What the server does unasked: publish, compile and examine indices after a pause in typing, verify again on save or
when idle."""

import asyncio
import functools
from collections.abc import Callable

from kernelwright.lsp import diagnostics, launched
from kernelwright.lsp.asking import Asking
from kernelwright.lsp.compiling import compile_quickly, compile_thoroughly
from kernelwright.lsp.indices import examine
from kernelwright.lsp.session import Session
from kernelwright.values import Outcome

_TYPING = 0.05  # seconds of quiet before findings are worked out again
_LOOKING = 0.1  # and before the menus are, so that a hover or the action menu need not wait for them
_PAUSE = 0.4  # and before a compiler is asked, and z3
_MOST_MENUS = 8  # a file with more kernels is worked out when asked for


class Background:
    """Timers of each document; a newer one replaces the older."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._timers: dict[tuple[str, str], asyncio.TimerHandle] = {}
        self._compiling, self._examining = Asking(session), Asking(session)

    def opened(self, uri: str) -> None:
        self._ask(uri)

    def edited(self, uri: str) -> None:
        for about in (uri, *launched.joined_with(self._session, uri)):
            self._later(about, "publish", _TYPING, functools.partial(diagnostics.publish, self._session, about))
        self._later(uri, "compile", _PAUSE, lambda: self._ask(uri))
        self._later(uri, "menu", _LOOKING, lambda: self._session.spawn(self._prepare(uri)))
        if self._session.settings.verify_on == "idle":
            self._later(uri, "verify", self._session.settings.idle_seconds, lambda: self._verify(uri))

    def saved(self, uri: str) -> None:
        self._compiling.ask(uri, compile_thoroughly)
        if self._session.settings.verify_on in ("save", "idle"):
            self._verify(uri)

    def drop(self, uri: str) -> None:
        self._compiling.drop(uri)
        self._examining.drop(uri)
        for key in [key for key in self._timers if key[0] == uri]:
            self._timers.pop(key).cancel()

    def _ask(self, uri: str) -> None:
        self._compiling.ask(uri, compile_quickly)
        self._examining.ask(uri, examine)

    def _later(self, uri: str, what: str, seconds: float, act: Callable[[], object]) -> None:
        if (uri, what) in self._timers:
            self._timers[(uri, what)].cancel()
        self._timers[(uri, what)] = asyncio.get_running_loop().call_later(seconds, act)

    async def _prepare(self, uri: str) -> None:
        snapshot = self._session.documents.get(uri)
        if snapshot is None or len(snapshot.kernels) > _MOST_MENUS:
            return
        for kernel in snapshot.kernels:
            if await self._session.menu(snapshot, kernel) is None:
                return

    def _verify(self, uri: str) -> None:
        self._session.spawn(_verify_stale(self._session, uri))


async def _verify_stale(session: Session, uri: str) -> None:
    """Every kernel that was verified as other code, one after the other."""
    from kernelwright.lsp.commands.arguments import Subject
    from kernelwright.lsp.commands.checking import check

    snapshot = session.documents.get(uri)
    if snapshot is None:
        return
    for kernel in snapshot.kernels:
        if session.documents.get(uri) is not snapshot:
            return  # edited meanwhile: there will be another save or pause
        known = session.result(snapshot, kernel)
        if known is not None and known[1] and known[0].outcome is not Outcome.REJECTED:
            await check(session, Subject(*session.whole(snapshot, kernel)), measure=False, background=True)
