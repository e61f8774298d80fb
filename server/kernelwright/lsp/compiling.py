"""What a compiler has against CUDA C++ in a document: asked quickly when it is opened and after a pause in typing, and
thoroughly when it is saved."""

import asyncio

from kernelwright.lsp import diagnostics
from kernelwright.lsp.compiled import Compiled
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot

_LANGUAGE = "cuda-cpp"


class Compiling:
    """At most one question for each document: a newer one ends the older."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._asking: dict[str, asyncio.Task[None]] = {}

    def ask(self, uri: str, *, quick: bool) -> None:
        """Compile the document as it is now and publish the errors; `quick` as for `compile_errors`."""
        snapshot = self._session.documents.get(uri)
        if snapshot is None or not self._session.settings.findings:
            return
        self.drop(uri)
        self._asking[uri] = self._session.spawn(self._ask(snapshot, quick))

    def drop(self, uri: str) -> None:
        """End the question about a document, if there is one."""
        asking = self._asking.pop(uri, None)
        if asking is not None:
            asking.cancel()

    async def _ask(self, snapshot: Snapshot, quick: bool) -> None:
        texts = _texts(snapshot)
        if not texts:
            return
        from kernelwright.proof.compilers import compile_errors

        answers = [await compile_errors(snapshot.path, text, quick=quick) for text in texts]
        if self._session.documents.get(snapshot.uri) is not None:
            errors = tuple(
                error for found in answers for error in found or ()
            )  # nothing is claimed of what was not compiled
            self._session.compiled[snapshot.uri] = Compiled.of(snapshot, errors)
            diagnostics.publish(self._session, snapshot.uri)


def _texts(snapshot: Snapshot) -> tuple[str, ...]:
    """The texts of CUDA C++ in a document, in which everything stands where it does there, without what needs PyTorch."""
    units = [snapshot.support.unit(snapshot.text, kernel) for kernel in snapshot.kernels]
    if not units and snapshot.support.id == _LANGUAGE:
        return (snapshot.text,)
    return tuple(dict.fromkeys(unit.checked for unit in units if unit.language == _LANGUAGE))
