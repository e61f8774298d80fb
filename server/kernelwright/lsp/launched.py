"""Where other files of the workspace launch the kernels of a document: looked for in a thread, and remembered for a while."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Kernel, Language

if TYPE_CHECKING:
    from kernelwright.elsewhere import Site
    from kernelwright.lsp.session import Session

_FRESH, _TIMES = 30.0, 50  # seconds, or so many times as long as it took to look, after which files may be others
_PATIENCE = 1.0  # seconds in which a lens waits for it; later it is asked for again

Sites = Mapping[str, "tuple[Site, ...]"]


@dataclass(frozen=True)
class Looked:
    """What is known of the kernels of a document that have these names, or is being looked for. `took` and `at` in seconds."""

    names: frozenset[str]
    work: "asyncio.Task[tuple[Sites, float, float]]"

    def is_fresh(self) -> bool:
        if not self.work.done():
            return True
        _, took, at = self.work.result()
        return time.monotonic() - at < max(_FRESH, _TIMES * took)


async def sites(session: "Session", snapshot: Snapshot, kernel: Kernel) -> "tuple[Site, ...]":
    """Where other files launch a Triton kernel that its own does not; none where it is not known yet."""
    if not _is_launched_elsewhere(kernel) or not Path(snapshot.path).is_absolute():
        return ()
    names = frozenset(one.name for one in snapshot.kernels if _is_launched_elsewhere(one))
    looked = session.launched.get(snapshot.uri)
    if looked is None or looked.names != names or not looked.is_fresh():
        opened = {Path(one.path).resolve(): one.text for one in session.documents if Path(one.path).is_absolute()}
        root, within = session.root_of(snapshot.path), session.is_in_workspace(snapshot.path)
        work = asyncio.to_thread(_found, root, within, Path(snapshot.path).resolve(), names, opened)
        looked = session.launched[snapshot.uri] = Looked(names, session.spawn(work))
    done, _ = await asyncio.wait({looked.work}, timeout=_PATIENCE)
    if not done:
        looked.work.add_done_callback(lambda work: None if work.cancelled() else session.client.refresh())
        return ()
    return looked.work.result()[0].get(kernel.name, ())


def _is_launched_elsewhere(kernel: Kernel) -> bool:
    return kernel.language is Language.TRITON and not kernel.launches


def _found(
    root: Path, within: bool, file: Path, names: frozenset[str], opened: Mapping[Path, str]
) -> tuple[Sites, float, float]:
    """Below the root, where that is a folder of the workspace; else among the file's neighbours."""
    from kernelwright import callers, elsewhere
    from kernelwright.recording import source_files

    begun = time.monotonic()
    texts = callers.read_all(source_files([root] if within else sorted(root.glob("*.py")))) | dict(opened)
    found = elsewhere.sites(texts, callers.imports(texts), file, names)
    return found, time.monotonic() - begun, time.monotonic()
