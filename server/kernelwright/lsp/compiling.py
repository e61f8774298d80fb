"""What a compiler has against CUDA C++ in a document: asked quickly when it is opened and after a pause in typing, and
thoroughly when it is saved."""

from kernelwright.lsp import diagnostics
from kernelwright.lsp.compiled import Compiled
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot

_LANGUAGE = "cuda-cpp"


async def compile_quickly(session: Session, snapshot: Snapshot) -> None:
    """Ask what answers in a fraction of a second, and publish the errors."""
    await _ask(session, snapshot, quick=True)


async def compile_thoroughly(session: Session, snapshot: Snapshot) -> None:
    """Ask the best compiler that is here, and publish the errors."""
    await _ask(session, snapshot, quick=False)


async def _ask(session: Session, snapshot: Snapshot, *, quick: bool) -> None:
    texts = _texts(snapshot)
    if not texts:
        return
    from kernelwright.proof.compilers import compile_errors

    answers = [await compile_errors(snapshot.path, text, quick=quick) for text in texts]
    if session.documents.get(snapshot.uri) is not None:
        errors = tuple(
            error for found in answers for error in found or ()
        )  # nothing is claimed of what was not compiled
        session.compiled[snapshot.uri] = Compiled.of(snapshot, errors)
        diagnostics.publish(session, snapshot.uri)


def _texts(snapshot: Snapshot) -> tuple[str, ...]:
    """The texts of CUDA C++ in a document, in which everything stands where it does there, without what needs PyTorch."""
    units = [snapshot.support.unit(snapshot.text, kernel) for kernel in snapshot.kernels]
    if not units and snapshot.support.id == _LANGUAGE:
        return (snapshot.text,)
    return tuple(dict.fromkeys(unit.checked for unit in units if unit.language == _LANGUAGE))
