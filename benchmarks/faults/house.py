"""Where the faults happen: a workspace, a temporary folder, and an editor with the real server at work in them."""

import asyncio
import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil
from benchmarks.faults.census import MARK, Census, Process, processes
from benchmarks.faults.texts import GOOD
from lsprotocol import types as lsp
from pytest_lsp import client_capabilities
from pytest_lsp.client import make_test_lsp_client

from kernelwright.journal import open_journal
from kernelwright.values import Refusal
from lsp.editor import Editor

_SERVER = Path(__file__).parents[2] / "server"  # this tree's, whatever is installed
_PAUSE = 15.0  # seconds that this may take
_NEW_MOUNTS = 0x20000  # CLONE_NEWNS
_SIZE = "48m"


def can_mount() -> bool:
    """Enter a mount namespace of our own, where /dev/shm is ours too; False where that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not sys.platform.startswith("linux") or libc.unshare(_NEW_MOUNTS) != 0:
        return False
    try:
        _mount("--make-rprivate", "/")
        _mount("-t", "tmpfs", "-o", "size=1g", "tmpfs", "/dev/shm")
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


class House:
    """One server at a time. `mounts`: workspace and temporary folder are small file systems of their own.

    `limit`: seconds that the server gives a job; `patience`: seconds after which a person mostly cancels one.
    """

    def __init__(self, root: Path, *, mounts: bool, limit: float, patience: float) -> None:
        self.limit, self.patience = limit, patience
        self.root, self.mounts = root, mounts
        self.workspace, self.tmp = root / "workspace", root / "tmp"
        for folder in (self.workspace, self.tmp):
            folder.mkdir()
            if mounts:
                _mount("-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(folder))
        self.mark = uuid.uuid4().hex
        self.kept: dict[str, str] = {}  # baselines that the server has acknowledged
        self.round = 0
        self.mend: list[Callable[[], object]] = []  # what undoes a fault of the surroundings

    # The server

    async def start(self) -> None:
        """A server in an editor that opens the good kernel."""
        self._warm: set[int] = set()  # the workers after the last pause, and which of them were judges
        self._judges: set[int] = set()
        self._lost_judge = False
        self.captured = False  # whether this server was asked for a graph
        client = make_test_lsp_client()
        self.editor = Editor(client, self.workspace)
        limits = {"verifyTimeout": self.limit, "captureTimeout": self.limit}
        client.set_configuration({"threads": 1, "timingBudget": 0.05, **limits}, section="kernelwright")
        paths = os.pathsep.join(filter(None, [str(_SERVER), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, MARK: self.mark, "TMPDIR": str(self.tmp), "PYTHONPATH": paths}
        log = str(self.root / "server.log")  # a pipe that nobody reads would stop the server once it is full
        script = 'exec "$0" -m kernelwright.lsp 2>>"$1"'
        await client.start_io("sh", "-c", script, sys.executable, log, cwd=str(self.workspace), env=environment)
        folder = lsp.WorkspaceFolder(self.workspace.as_uri(), self.workspace.name)
        params = lsp.InitializeParams(
            capabilities=client_capabilities("visual_studio_code"), root_uri=folder.uri, workspace_folders=[folder]
        )
        answer = await client.initialize_session(params)
        self.editor.encoding = answer.capabilities.position_encoding or "utf-16"
        self.server = psutil.Process(client._server.pid)
        self.good = self.editor.open("good.py", GOOD.replace("# round 0", f"# round {self.round}"))

    def heal(self) -> None:
        """Undo what a fault has done to the surroundings: free the disk, unlock the journal."""
        for undo in self.mend:
            undo()
        self.mend.clear()

    def count(self) -> None:
        """Notes what is there now as what may be there later."""
        self.census = Census(self.mark, self.server.pid, self.workspace, self.tmp)

    async def warm(self) -> None:
        """Where workers were lost, a person's pause: until those are ready that a server starts when nothing else is to do."""
        pids = self._pids()
        if pids == self._warm:
            return
        self._lost_judge |= bool(self._judges - {judge.pid for judge in self.workers("judge")})
        judges = 2 if self._lost_judge else 1  # a server keeps a spare judge once it has lost one
        end = time.monotonic() + _PAUSE
        calm = 0
        while calm < 5 and time.monotonic() < end:
            await asyncio.sleep(0.1)
            runs = 2 if self.captured else 1  # the spare alone, where nothing was asked of such a worker
            enough = len(self.workers("run")) == runs and len(self.workers("judge")) == judges
            calm = calm + 1 if enough and all(worker.state == "S" for worker in self._workers()) else 0
        self._warm, self._judges = self._pids(), {judge.pid for judge in self.workers("judge")}

    def _workers(self) -> list[Process]:
        return [worker for role in ("run", "judge") for worker in self.workers(role)]

    def _pids(self) -> set[int]:
        return {worker.pid for worker in self._workers()}

    async def stop(self) -> None:
        """The editor shuts its server down as editors do."""
        await self.editor.client.shutdown_session()
        await self.editor.client.stop()

    async def discard(self) -> None:
        """Drop our side of a server that is gone."""
        with contextlib.suppress(Exception):  # whatever the client makes of a server that died
            await asyncio.wait_for(self.editor.client.stop(), 5.0)

    def clean(self) -> None:
        """End what is left of a server, and remove its files but for the workspace."""
        for process in processes(self.mark).values():
            with contextlib.suppress(psutil.Error):
                psutil.Process(process.pid).kill()
        for place in self.tmp.iterdir():
            shutil.rmtree(place, ignore_errors=True)
            place.unlink(missing_ok=True) if not place.is_dir() else None

    def close(self) -> None:
        for process in processes(self.mark).values():
            with contextlib.suppress(psutil.Error):
                psutil.Process(process.pid).kill()
        if self.mounts:
            for folder in (self.workspace, self.tmp):
                subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)
        shutil.rmtree(self.root, ignore_errors=True)

    # Looking around

    def workers(self, role: str) -> list[Process]:
        """Those of a role that live, the one at work before its spare, which was started after it."""
        living = processes(self.mark).values()
        found = [p for p in living if p.parent == self.server.pid and p.role == role and p.state != "Z"]
        return sorted(found, key=lambda process: process.started)

    def zygotes(self) -> list[Process]:
        """Those of the judges, in their order."""
        judges = self.workers("judge")
        living = processes(self.mark).values()
        return [p for j in judges for p in living if p.parent == j.pid and p.command == j.command and p.state != "Z"]

    def hosts(self) -> list[Process]:
        zygotes = {zygote.pid for zygote in self.zygotes()}
        return [p for p in processes(self.mark).values() if p.parent in zygotes and p.state != "Z"]

    def place(self, what: str) -> list[Process]:
        return {"zygote": self.zygotes, "host": self.hosts}.get(what, lambda: self.workers(what))()

    @property
    def database(self) -> Path:
        return self.workspace / ".kernelwright" / "journal.db"

    # The journal

    async def set_baseline(self) -> None:
        """What the good kernel is judged against is the good kernel."""
        uri, name = self.good, "good.py"
        if await self.editor.command("kernelwright.resetBaseline", {"uri": uri}) is True:
            self.kept[name] = self.editor.texts[uri]

    async def keep(self, name: str) -> object:
        """Have the server keep a baseline; acknowledged when it answers True."""
        text = GOOD.replace("# round 0", f"# {name} in round {self.round}")
        uri = self.editor.open(name, text)
        answer = await self.editor.command("kernelwright.resetBaseline", {"uri": uri})
        self.editor.close(uri)
        if answer is True:
            self.kept[name] = text
        return answer

    def on_disk(self, names: Iterable[str] = ()) -> dict[str, str | None] | str:
        """The acknowledged baselines by file as another Kernelwright finds them; or why it cannot."""
        journal = open_journal(self.workspace)
        if isinstance(journal, Refusal):
            return journal.reason
        with journal:
            if not journal.persistent:
                return journal.notice
            return {name: journal.baseline(name, "scaled") for name in {*self.kept, *names}}

    def lost(self) -> list[str]:
        """Acknowledged entries that are not on disk, in words."""
        found = self.on_disk()
        if isinstance(found, str):
            return [found]
        return [f"baseline of {name}" for name, text in self.kept.items() if found.get(name) != text]


def make(*, mounts: bool, limit: float, patience: float) -> House:
    return House(Path(tempfile.mkdtemp(prefix="faults-")), mounts=mounts, limit=limit, patience=patience)
