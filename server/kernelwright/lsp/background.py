"""What the server does unasked: publish after a pause in typing, verify again on save or when idle."""

import asyncio

from kernelwright.lsp import diagnostics
from kernelwright.lsp.session import Session
from kernelwright.values import Outcome

_TYPING = 0.05  # seconds of quiet before findings are worked out again


class Background:
    """Timers of each document; a newer one replaces the older."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._timers: dict[tuple[str, str], asyncio.TimerHandle] = {}

    def edited(self, uri: str) -> None:
        self._later(uri, "publish", _TYPING, lambda: diagnostics.publish(self._session, uri))
        if self._session.settings.verify_on == "idle":
            self._later(uri, "verify", self._session.settings.idle_seconds, lambda: self._verify(uri))

    def saved(self, uri: str) -> None:
        if self._session.settings.verify_on in ("save", "idle"):
            self._verify(uri)

    def drop(self, uri: str) -> None:
        for key in [key for key in self._timers if key[0] == uri]:
            self._timers.pop(key).cancel()

    def _later(self, uri: str, what: str, seconds: float, act) -> None:
        if (uri, what) in self._timers:
            self._timers[(uri, what)].cancel()
        self._timers[(uri, what)] = asyncio.get_running_loop().call_later(seconds, act)

    def _verify(self, uri: str) -> None:
        self._session.spawn(_verify_stale(self._session, uri))


async def _verify_stale(session: Session, uri: str) -> None:
    """Every kernel that was verified as other code, one after the other."""
    from kernelwright.lsp.commands.arguments import Subject
    from kernelwright.lsp.commands.checking import check

    snapshot = session.documents.get(uri)
    for kernel in snapshot.kernels if snapshot else ():
        known = session.result(snapshot, kernel)
        if known is not None and known[1] and known[0].outcome is not Outcome.REJECTED:
            await check(session, Subject(snapshot, kernel), measure=False)
