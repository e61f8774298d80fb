"""The server's only mutable state: open documents, settings, results, engines. Features get frozen snapshots."""

import asyncio
import contextlib
import functools
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from kernelwright import words
from kernelwright.lsp import launched, results
from kernelwright.lsp.client import Client
from kernelwright.lsp.documents import Documents
from kernelwright.lsp.results import Result
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.settings import DEFAULTS, Settings
from kernelwright.values import KeptLines, Kernel, Measurement, Outcome, Refusal, Resources

if TYPE_CHECKING:
    from kernelwright.engine import Engine
    from kernelwright.lsp.compiled import Compiled
    from kernelwright.lsp.examined import Examined
    from kernelwright.macro.strategy import Observation
    from kernelwright.menu import Menu
    from kernelwright.models import Provider
    from kernelwright.proof.client import Workers

T = TypeVar("T")
Joined = tuple[Snapshot, Kernel] | Refusal | None

_SETTLING = 2.0  # seconds
_REMEMBERED = 20  # results per kernel, so that an undo brings back what was known of the text


@dataclass(frozen=True)
class Running:
    """A job of a kernel that has not ended. One in `background`, which nobody asked for, makes way for a person's."""

    background: bool = False
    cancel: asyncio.Event = field(default_factory=asyncio.Event)
    outdated: asyncio.Event = field(default_factory=asyncio.Event)  # cancelled by an edit of its document
    ended: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True)
class _Made:
    """A menu, ready or on its way, beside all that it depends on: an engine stands for the settings it was made with."""

    engine: "Engine"
    observation: "Observation"
    menu: "asyncio.Task[Menu]"


class Session:
    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.client = Client(server)
        self.documents = Documents()
        self.settings: Settings = DEFAULTS
        self.configured = asyncio.Event()  # set once the client's settings, if it has any, are known
        self.running: dict[tuple[str, str], Running] = {}
        self.offered: set[str] = set()  # ids of steps whose edits the editor has not made, or refused, yet
        self.key = ""  # of the language model, from the editor's secret storage
        self.compiled: dict[str, Compiled] = {}  # what a compiler has last told of a document, by uri
        self.indices: dict[str, Examined] = {}  # what z3 has last told of the indices of a document, by uri
        # What is known of where others launch a document's kernels, and of which kernels of others it launches; by uri
        self.launched: dict[str, launched.Looked[launched.Sites]] = {}
        self.launching: dict[str, launched.Looked[launched.Launched]] = {}
        self.joined: dict[tuple[str, str], tuple[tuple[Snapshot, ...], Joined]] = {}  # by uri and kernel, and what of
        self.kept: dict[str, KeptLines] = {}  # of the journal, by path: a key that is typed asks no database
        self.parts: dict[str, list[str]] = {}  # of answers that the editor's models are writing, by request
        self.writing = asyncio.Lock()  # held by a tool from reading a file to writing it
        self._provider: Provider | None = None
        self._results: dict[tuple[str, str], list[Result]] = {}
        self._resources: dict[tuple[str, str], tuple[str, tuple[Resources, ...]]] = {}
        self._engines: dict[Path, Engine] = {}
        self._warm: dict[Path, Workers] = {}  # for engines to come
        self._menus: dict[tuple[str, str], _Made] = {}
        self._looking = asyncio.Lock()  # one graph at a time, so that the loop shares the interpreter with one thread
        self._tasks: set[asyncio.Task[Any]] = set()
        self._noticed: set[str] = set()

    # Results

    def remember(self, uri: str, result: Result) -> None:
        kept = [known for known in self._results.get((uri, result.kernel), []) if known.code != result.code]
        self._results[(uri, result.kernel)] = [*kept, result][-_REMEMBERED:]

    def forget(self, uri: str, kernel: str | None = None) -> None:
        """Drops the results of a kernel, or of a whole file or folder that is gone."""
        for key in [key for key in self._results if is_in(key[0], uri) and kernel in (None, key[1])]:
            del self._results[key]

    def renamed(self, old: str, new: str) -> None:
        """A file, or a folder, has moved: what is known of its kernels goes with it, within a workspace the journal's too."""
        from kernelwright.journal.opening import is_begun

        for uri, kernel in [key for key in self._results if is_in(key[0], old)]:
            self._results[(new + uri.removeprefix(old), kernel)] = self._results.pop((uri, kernel))
        before, after = to_fs_path(old), to_fs_path(new)
        if before and after and is_begun(self.root_of(after)) and self.root_of(before) == self.root_of(after):
            self.engine(after).renamed(before, after)

    def result(self, snapshot: Snapshot, kernel: Kernel) -> tuple[Result, bool] | None:
        """What is known of a kernel, and whether it is stale: about other code than the text has now."""
        known = self._results.get((snapshot.uri, kernel.name))
        if not known:
            return None
        snapshot, kernel = self.whole(snapshot, kernel)
        code = _code(snapshot, kernel)
        fitting = next((result for result in reversed(known) if result.code == code), None)
        if fitting is not None:
            return fitting, False
        claim = next((r for r in reversed(known) if r.outcome is not Outcome.REJECTED and r.verdict is not None), None)
        if claim is None or claim.verdict is None or claim.verdict.baseline_hash == snapshot.hash:
            return None  # a rejected step says nothing about other code, and nothing is claimed of the baseline
        return claim, True

    def measurement(self, snapshot: Snapshot, kernel: Kernel) -> Measurement | None:
        """The Measurement of the text as it is, where a number may be said."""
        known = self.result(snapshot, kernel)
        if known is None or known[1] or not words.measured(known[0].verdict, known[0].measurement):
            return None
        return known[0].measurement

    def resources(self, snapshot: Snapshot, kernel: Kernel) -> tuple[Resources, ...] | None:
        """What the compiler said of this very kernel, None when it has not been asked."""
        snapshot, kernel = self.whole(snapshot, kernel)
        known = self._resources.get((snapshot.uri, kernel.name))
        return known[1] if known and known[0] == _code(snapshot, kernel) else None

    def remember_resources(self, snapshot: Snapshot, kernel: Kernel, found: tuple[Resources, ...]) -> None:
        snapshot, kernel = self.whole(snapshot, kernel)
        self._resources[(snapshot.uri, kernel.name)] = (_code(snapshot, kernel), found)

    def whole(self, snapshot: Snapshot, kernel: Kernel) -> tuple[Snapshot, Kernel]:
        """The document of a kernel, joined with the one that launches it where it is known that only that does."""
        found = launched.known(self, snapshot, kernel)
        return found if isinstance(found, tuple) else (snapshot, kernel)

    def document(self, file: Path, text: str | None = None) -> Snapshot:
        """A file as its document has it; where it is not open, as `text` or as it lies on the disk. Raises OSError."""
        found = next((one for one in self.documents if Path(one.path).resolve() == file), None)
        if found is not None:
            return found
        held = file.read_bytes()
        text = text if text is not None else held.decode("utf-8", "replace").replace("\r\n", "\n")
        uri, crlf = from_fs_path(str(file)) or "", b"\r\n" in held
        return Snapshot(uri, str(file), "python", None, text, self.client.encoding, crlf, self.kept_lines(str(file)))

    def kept_lines(self, path: str) -> KeptLines:
        """The workload lines that the journal keeps for a file, as they were when `kept` was last emptied."""
        from kernelwright.journal.opening import is_begun

        root = self.root_of(path)
        if path not in self.kept and (root in self._engines or is_begun(root)):
            self.kept[path] = self.engine(path).journal.lines(path)
        return self.kept.get(path, ())

    # Engines: one for each workspace folder, made when a kernel there is first looked at

    def engine(self, path: str) -> "Engine":
        from kernelwright.engine import Engine

        root = self.root_of(path)
        if root not in self._engines:
            self._engines[root] = Engine(root, self.settings, self._warm.pop(root, None), provider=self._model())
            self.notice()
        return self._engines[root]

    def _model(self) -> "Provider | None":
        """The language model of the settings, one for all workspaces. One that cannot be made says why where it is asked."""
        from kernelwright.lsp.language_model import EditorModel
        from kernelwright.models.choosing import of_settings
        from kernelwright.models.unusable import Unusable

        if self._provider is None and self.settings.model:
            made = of_settings(self.settings, key=lambda: self.key, editor=lambda model: EditorModel(self, model))
            self._provider = Unusable(self.settings.model, made) if isinstance(made, Refusal) else made
        return self._provider

    def observe(self, snapshot: Snapshot, kernel: Kernel) -> "Observation | Refusal":
        """What is known of a kernel right now."""
        snapshot, kernel = self.whole(snapshot, kernel)
        engine = self.engine(snapshot.path)
        return engine.observe(snapshot.path, snapshot.text, kernel.name, kernel, snapshot.support)

    async def menu(self, snapshot: Snapshot, kernel: Kernel) -> "Menu | Refusal | None":
        """What could be done to a kernel, worked out anew only where what it was worked out from has changed.

        None where the document was changed meanwhile. Who stops waiting stops nothing: others may wait for the same.
        """
        engine, observation = self.engine(snapshot.path), self.observe(snapshot, kernel)
        if isinstance(observation, Refusal):
            return observation
        key = (snapshot.uri, kernel.name)
        made = self._menus.get(key)
        if made is None or made.engine is not engine or made.observation != observation:
            made = self._menus[key] = _Made(engine, observation, self.spawn(self._menu(engine, observation)))
        found = await asyncio.shield(made.menu)
        return found if self.documents.get(snapshot.uri) in (snapshot.own, None) else None

    async def _menu(self, engine: "Engine", observation: "Observation") -> "Menu":
        from kernelwright.menu import menu

        if observation.graph is None:
            return menu(engine, observation)
        async with self._looking:
            return await asyncio.to_thread(menu, engine, observation)

    def notice(self) -> None:
        """What a journal has to say, such as that the disk is full, is said once."""
        for engine in self._engines.values():
            said = engine.journal.notice
            if said and said not in self._noticed:
                self._noticed.add(said)
                self.client.tell(said, lsp.MessageType.Warning)

    async def settled(self) -> None:
        """Waits for the client's settings, but not for a client that never answers."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.configured.wait(), _SETTLING)

    def use(self, settings: Settings) -> None:
        """New settings: engines made with the old ones are closed once their jobs have ended.

        Their workers go on where the settings ask for the same interpreter, which took seconds to start.
        """
        if settings == self.settings:
            return
        before, self.settings = self.settings, settings
        retired, self._engines = self._engines, {}
        provider, self._provider = self._provider, None
        if (before.interpreter, before.keep_environment) == (settings.interpreter, settings.keep_environment):
            self._warm |= {root: engine.hand_over() for root, engine in retired.items()}
        else:
            unused, self._warm = self._warm, {}
            for workers in unused.values():
                self.spawn(self._close_when_idle(workers))
        for engine in retired.values():
            self.spawn(self._close_when_idle(engine))
        if provider is not None:
            self.spawn(self._close_when_idle(provider))
        self.notice()

    async def _close_when_idle(self, one: "Engine | Provider | Workers") -> None:
        while self.running:
            await asyncio.sleep(0.2)
        await one.close()

    async def shut_down(self) -> None:
        for job in self.running.values():
            job.cancel.set()
        for task in tuple(self._tasks):
            task.cancel()
        engines, self._engines = self._engines, {}
        for engine in engines.values():
            await engine.close()
        unused, self._warm = self._warm, {}
        for workers in unused.values():
            await workers.close()
        if self._provider is not None:
            await self._provider.close()

    def spawn(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Background work, kept alive until it is done; what it raises goes to the log."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.client.log(f"{type(error).__name__}: {error}", lsp.MessageType.Error)

    def root_of(self, path: str) -> Path:
        return _root_of(path, self._folders())

    def is_in_workspace(self, path: str) -> bool:
        """Whether a file lies in a folder that is open, and not only in its own."""
        return any(Path(path).is_relative_to(folder) for folder in self._folders())

    def _folders(self) -> tuple[str, ...]:
        folders = [to_fs_path(folder.uri) for folder in self.server.workspace.folders.values()]
        return tuple(folder for folder in (*folders, self.server.workspace.root_path) if folder)


@functools.lru_cache(maxsize=64)  # asked for at each hover
def _root_of(path: str, folders: tuple[str, ...]) -> Path:
    """The innermost of the folders that the file lies in, else its own."""
    roots = [Path(folder) for folder in folders]
    around = [root for root in roots if Path(path).is_relative_to(root)]
    return max(around, key=lambda root: len(root.parts), default=Path(path).parent)


def is_in(uri: str, place: str) -> bool:
    """Whether a file is the one at `place`, or lies in that folder."""
    return uri == place or uri.startswith(f"{place.rstrip('/')}/")


def _code(snapshot: Snapshot, kernel: Kernel) -> str:
    return results.code_of(snapshot.text, kernel, snapshot.kernels)
