"""Where other files of the workspace launch the kernels of a document: looked for in a thread, and remembered for a while."""

import asyncio
import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Kernel, Language, Refusal

if TYPE_CHECKING:
    from kernelwright.elsewhere import Site
    from kernelwright.lsp.session import Session

_FRESH, _TIMES = 30.0, 50  # seconds, or so many times as long as it took to look, after which files may be others
_PATIENCE = 1.0  # seconds in which a lens waits for it; later it is asked for again

Sites = Mapping[str, "tuple[Site, ...]"]


@dataclass(frozen=True)
class Looked:
    """What is known of the kernels of a document that have these names, or is being looked for; and what was `before`.

    `took` and `at` in seconds.
    """

    names: frozenset[str]
    work: "asyncio.Task[tuple[Sites, float, float]]"
    before: Sites = field(default_factory=dict)
    outdated: bool = False

    @property
    def known(self) -> Sites:
        return self.work.result()[0] if self.work.done() else self.before

    def is_fresh(self) -> bool:
        if self.outdated or not self.work.done():
            return not self.outdated
        _, took, at = self.work.result()
        return time.monotonic() - at < max(_FRESH, _TIMES * took)


def outdate(session: "Session") -> None:
    """Have files looked at again when they are asked for the next time."""
    for uri, looked in session.launched.items():
        session.launched[uri] = dataclasses.replace(looked, outdated=True)


async def sites(session: "Session", snapshot: Snapshot, kernel: Kernel) -> "tuple[Site, ...]":
    """Where other files launch a Triton kernel that its own does not; none where it is not known yet."""
    work = _looking(session, snapshot, kernel)
    if work is None:
        return ()
    done, _ = await asyncio.wait({work}, timeout=_PATIENCE)
    if not done:
        work.add_done_callback(lambda work: None if work.cancelled() else session.client.refresh())
        return ()
    return work.result()[0].get(kernel.name, ())


async def joined(session: "Session", snapshot: Snapshot, kernel: Kernel) -> tuple[Snapshot, Kernel] | Refusal | None:
    """The document of a kernel joined with the one that launches it, as both are now; None for what is not joined.

    A Refusal says why it cannot be.
    """
    work = _looking(session, snapshot, kernel)
    if work is None:
        return None
    await asyncio.wait({work})
    return known(session, snapshot, kernel)


def known(session: "Session", snapshot: Snapshot, kernel: Kernel) -> tuple[Snapshot, Kernel] | Refusal | None:
    """As `joined`, by what is known already."""
    looked = session.launched.get(snapshot.uri)
    if looked is None or not is_launched_elsewhere(kernel) or kernel.entry is not None or snapshot.parts:
        return None
    try:
        others = {site.file: session.document(site.file) for site in looked.known.get(kernel.name, ())}
    except OSError:
        return None  # it was there when it was looked for
    if not others:
        return None
    key = (snapshot.uri, kernel.name)
    made_of, made = session.joined.get(key, ((), None))
    if made_of != (snapshot, *others.values()):
        made = _made(snapshot, kernel, others)
        session.joined[key] = ((snapshot, *others.values()), made)
    return made


def joined_with(session: "Session", uri: str) -> set[str]:
    """The documents of the kernels that this one is joined with, because it launches them."""
    return {about for (about, _), (made_of, _) in session.joined.items() if any(one.uri == uri for one in made_of[1:])}


def _made(
    snapshot: Snapshot, kernel: Kernel, others: Mapping[Path, Snapshot]
) -> tuple[Snapshot, Kernel] | Refusal | None:
    from kernelwright import joining

    texts = {file: other.text for file, other in others.items()}
    found = joining.with_one(Path(snapshot.path).resolve(), snapshot.text, kernel, texts, snapshot.support)
    if not isinstance(found, joining.Joined):
        return found
    return dataclasses.replace(snapshot, text=found.text, parts=(snapshot, others[found.files[1]])), found.kernel


def _looking(
    session: "Session", snapshot: Snapshot, kernel: Kernel
) -> "asyncio.Task[tuple[Sites, float, float]] | None":
    """What finds out where the kernels of a document are launched; None for a kernel that its own file launches."""
    if not is_launched_elsewhere(kernel) or not Path(snapshot.path).is_absolute():
        return None
    names = frozenset(one.name for one in snapshot.kernels if is_launched_elsewhere(one))
    looked = session.launched.get(snapshot.uri)
    if looked is None or looked.names != names or not looked.is_fresh():
        opened = {Path(one.path).resolve(): one.text for one in session.documents if Path(one.path).is_absolute()}
        root, within = session.root_of(snapshot.path), session.is_in_workspace(snapshot.path)
        work = asyncio.to_thread(_found, root, within, Path(snapshot.path).resolve(), names, opened)
        before = looked.known if looked is not None else {}
        looked = session.launched[snapshot.uri] = Looked(names, session.spawn(work), before)
    return looked.work


def is_launched_elsewhere(kernel: Kernel) -> bool:
    """Whether nothing in its own file launches the kernel, as far as that can be."""
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
