"""Where other files of the workspace launch the kernels of a document: looked for in a thread, and remembered for a while."""

import asyncio
import contextlib
import dataclasses
import itertools
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from kernelwright import callers
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Kernel, Language, Refusal, pages

if TYPE_CHECKING:
    from kernelwright.elsewhere import Site
    from kernelwright.languages import LanguageSupport
    from kernelwright.lsp.session import Session

_FRESH, _TIMES = 30.0, 50  # seconds, or so many times as long as it took to look, after which files may be others
_PATIENCE = 1.0  # seconds in which a lens waits for it; later it is asked for again

_LAUNCH = re.compile(r"\b(?:(\w+)\.)?(\w+)[ \t]*\[[^\]\n]*\][ \t]*\(")
_DEFINITION = re.compile(r"^(?:async def|def|class) ", re.MULTILINE)
_CALLED = re.compile(r"\][ \t]*\(")  # found in a long text in a hundredth of the time

T = TypeVar("T")
Sites = Mapping[str, "tuple[Site, ...]"]
Launched = tuple[tuple[Path, str], ...]
"""Kernels, each by its file and its name."""


@dataclass(frozen=True)
class Looked(Generic[T]):
    """What is known of the kernels that have these names, or is being looked for; and what was known `before`.

    `took` and `at` in seconds.
    """

    names: frozenset[str]
    work: "asyncio.Task[tuple[T, float, float]]"
    before: T
    outdated: bool = False

    @property
    def known(self) -> T:
        return self.work.result()[0] if self._has_ended() else self.before

    def is_fresh(self) -> bool:
        if self.outdated or not self._has_ended():
            return not self.outdated and not self.work.done()
        _, took, at = self.work.result()
        return time.monotonic() - at < max(_FRESH, _TIMES * took)

    def _has_ended(self) -> bool:
        return self.work.done() and not self.work.cancelled() and self.work.exception() is None


def outdate(session: "Session") -> None:
    """Have files looked at again when they are asked for the next time."""
    for uri, looked in session.launched.items():
        session.launched[uri] = dataclasses.replace(looked, outdated=True)
    for uri, one in session.launching.items():
        session.launching[uri] = dataclasses.replace(one, outdated=True)


async def sites(session: "Session", snapshot: Snapshot, kernel: Kernel) -> "tuple[Site, ...]":
    """Where other files launch a Triton kernel that its own does not; none where it is not known yet."""
    work = _looking(session, snapshot, kernel)
    if work is None:
        return ()
    done, _ = await asyncio.wait({work}, timeout=_PATIENCE)
    if not done:
        work.add_done_callback(lambda work: None if work.cancelled() else session.client.refresh())
        return ()
    return session.launched[snapshot.uri].known.get(kernel.name, ())


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


async def by_launcher(
    session: "Session", snapshot: Snapshot, kernel: str | None = None, line: int | None = None
) -> tuple[Snapshot, Kernel] | Refusal | None:
    """The kernel of another file that a document launches, by its name or by a line of its launcher, joined with it."""
    work = _looking_for_launched(session, snapshot)
    if work is None:
        return None
    await asyncio.wait({work})
    found = [await joined(session, *one) for one in _launched_by(session, snapshot) if kernel in (None, one[1].name)]
    if line is not None:
        found = [one for one in found if isinstance(one, tuple) and line in launcher_lines(one)]
    names = dict.fromkeys(one[1].name for one in found if isinstance(one, tuple))
    if len(names) > 1:
        return Refusal(f"This file launches several kernels of others: say which of {', '.join(names)} is meant.")
    return next((one for one in found if one is not None), None)


def known_by_launcher(session: "Session", snapshot: Snapshot) -> list[tuple[Snapshot, Kernel]]:
    """The kernels of other files that a document launches, each joined with it, as far as they are known yet.

    The editor is told when there is more to be said.
    """
    work = _looking_for_launched(session, snapshot)
    if work is None:
        return []
    if not work.done():
        work.add_done_callback(lambda work: None if work.cancelled() else session.client.refresh())
    found: list[tuple[Snapshot, Kernel]] = []
    for one in _launched_by(session, snapshot):
        looking = _looking(session, *one)
        if looking is not None and not looking.done():
            looking.add_done_callback(lambda work: None if work.cancelled() else session.client.refresh())
        made = known(session, *one)
        if isinstance(made, tuple) and made[0].parts[1].uri == snapshot.uri:
            found.append(made)
    return found


def launcher_lines(one: tuple[Snapshot, Kernel]) -> range:
    """The lines of a joined kernel's launcher, in its own document."""
    (_, kernel), (_, page) = one, pages(one[0].text)
    if kernel.entry_start_line is None or kernel.entry_end_line is None:
        return range(0)
    return range(kernel.entry_start_line - page.line, kernel.entry_end_line - page.line)


def _launched_by(session: "Session", snapshot: Snapshot) -> list[tuple[Snapshot, Kernel]]:
    looked = session.launching.get(snapshot.uri)
    found: list[tuple[Snapshot, Kernel]] = []
    for file, name in looked.known if looked is not None else ():
        with contextlib.suppress(OSError):
            document = session.document(file)
            kernel = document.kernel(name)
            found += [(document, kernel)] if kernel is not None else []
    return found


def _looking_for_launched(
    session: "Session", snapshot: Snapshot
) -> "asyncio.Task[tuple[Launched, float, float]] | None":
    """What finds out which kernels of other files a document launches; None for one that launches none."""
    found = set(_launches(snapshot.text))
    imported = callers.imported_names(snapshot.text) if found else frozenset()
    names = frozenset(name for owner, name in found if (owner or name) in imported)
    if not names or snapshot.support.id != "python" or not Path(snapshot.path).is_absolute():
        return None
    looked = session.launching.get(snapshot.uri)
    if looked is None or looked.names != names or not looked.is_fresh():
        work = asyncio.to_thread(_found_launched, *_where(session, snapshot), snapshot.support)
        before = looked.known if looked is not None else ()
        looked = session.launching[snapshot.uri] = Looked(names, session.spawn(work), before)
    return looked.work


def may_launch_others(snapshot: Snapshot, line: int) -> bool:
    """Whether the definition around a line, or one of the next two, launches what this file does not define. Quick."""
    text, starts = snapshot.text, snapshot.lines.starts
    at = starts[min(line, len(starts) - 1)]
    begin = max(0, *(text.rfind(f"\n{word} ", 0, at + 1) for word in ("def", "async def", "class")))
    following = [found.start() for found in itertools.islice(_DEFINITION.finditer(text, at + 1), 3)]
    around = text[begin : following[-1] if following else len(text)]
    return any(owner or f"def {name}(" not in text for owner, name in _launches(around))


def _launches(text: str) -> Iterator[tuple[str, str]]:
    """What may be launches: the names before an index that is called, with what they are taken from."""
    for called in _CALLED.finditer(text):
        line = text[text.rfind("\n", 0, called.start()) + 1 : called.end()]
        yield from _LAUNCH.findall(line)


def _found_launched(
    root: Path, within: bool, file: Path, opened: Mapping[Path, str], support: "LanguageSupport"
) -> "tuple[Launched, float, float]":
    from kernelwright import joining

    begun = time.monotonic()
    texts = _texts(root, within, opened)
    found = joining.launched_in(texts, callers.imports(texts), file, support)
    kernels = tuple((one.files[0], one.kernel.name) for one in found if isinstance(one, joining.Joined))
    return kernels, time.monotonic() - begun, time.monotonic()


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
    other = others[found.files[1]]
    kept = (*snapshot.kept, *other.kept)
    return dataclasses.replace(snapshot, text=found.text, kept=kept, parts=(snapshot, other)), found.kernel


def _looking(
    session: "Session", snapshot: Snapshot, kernel: Kernel
) -> "asyncio.Task[tuple[Sites, float, float]] | None":
    """What finds out where the kernels of a document are launched; None for a kernel that its own file launches."""
    if not is_launched_elsewhere(kernel) or not Path(snapshot.path).is_absolute():
        return None
    names = frozenset(one.name for one in snapshot.kernels if is_launched_elsewhere(one))
    looked = session.launched.get(snapshot.uri)
    if looked is None or looked.names != names or not looked.is_fresh():
        work = asyncio.to_thread(_found, *_where(session, snapshot), names)
        before = looked.known if looked is not None else {}
        looked = session.launched[snapshot.uri] = Looked(names, session.spawn(work), before)
    return looked.work


def is_launched_elsewhere(kernel: Kernel) -> bool:
    """Whether nothing in its own file launches the kernel, as far as that can be."""
    return kernel.language is Language.TRITON and not kernel.launches


def _where(session: "Session", snapshot: Snapshot) -> tuple[Path, bool, Path, Mapping[Path, str]]:
    """The root of a document, whether that is a folder of the workspace, its file, and the texts of all open documents."""
    opened = {Path(one.path).resolve(): one.text for one in session.documents if Path(one.path).is_absolute()}
    root, within = session.root_of(snapshot.path), session.is_in_workspace(snapshot.path)
    return root, within, Path(snapshot.path).resolve(), opened


def _texts(root: Path, within: bool, opened: Mapping[Path, str]) -> dict[Path, str]:
    """Those below the root, where that is a folder of the workspace; else those of the file's neighbours."""
    from kernelwright.recording import source_files

    return callers.read_all(source_files([root] if within else sorted(root.glob("*.py")))) | dict(opened)


def _found(
    root: Path, within: bool, file: Path, opened: Mapping[Path, str], names: frozenset[str]
) -> tuple[Sites, float, float]:
    from kernelwright import elsewhere

    begun = time.monotonic()
    texts = _texts(root, within, opened)
    found = elsewhere.sites(texts, callers.imports(texts), file, names)
    return found, time.monotonic() - begun, time.monotonic()
