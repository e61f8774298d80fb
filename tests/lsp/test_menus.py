"""A menu is made again where what it was made from has changed, and only there."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

import pytest_asyncio
from lsprotocol import types as lsp
from pygls.workspace import Workspace

from kernelwright.engine import Request
from kernelwright.lsp.jobs import run
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.macro.strategy import Observation
from kernelwright.menu import Menu
from kernelwright.settings import Settings
from kernelwright.values import Refusal, Step
from lsp.examples import LINEAR_SUM, PLAIN

T = TypeVar("T")
SETTINGS = Settings(threads=1, timing_budget=0.2)


@pytest_asyncio.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """One without a client, whose engine knows the device."""
    workspace, nothing = Workspace(tmp_path.as_uri()), lsp.ClientCapabilities()
    session = Session(SimpleNamespace(workspace=workspace, client_capabilities=nothing, work_done_progress=None))
    session.use(SETTINGS)
    await session.engine(str(tmp_path / "any.py")).observer.device()
    yield session
    await session.shut_down()


def opened(session: Session, path: Path, text: str) -> Snapshot:
    path.write_text(text)
    return session.documents.open(lsp.TextDocumentItem(path.as_uri(), "python", 1, text), "utf-16")


async def menu(session: Session, snapshot: Snapshot) -> Menu:
    found = await session.menu(snapshot, snapshot.kernels[0])
    assert isinstance(found, Menu)
    return found


async def job(session: Session, snapshot: Snapshot, work: Callable[..., Awaitable[T]]) -> T | Refusal:
    """What a job of a snapshot's kernel answers."""
    subject = (snapshot.uri, snapshot.kernels[0].name)
    return await run(session, subject, "A job", work, lambda _: "Done.", background=True)


async def stepped(session: Session, snapshot: Snapshot) -> Step:
    """A job that takes a step of a snapshot's kernel."""
    name, engine = snapshot.kernels[0].name, session.engine(snapshot.path)
    request = Request(snapshot.path, snapshot.text, name, "torch.reassociate")
    step = await job(session, snapshot, lambda *how: engine.optimize(request, *how))
    assert isinstance(step, Step)
    return step


async def looked_at(session: Session, snapshot: Snapshot) -> None:
    """A job that finds out all there is to know of a snapshot's kernel, and changes nothing."""
    name, engine = snapshot.kernels[0].name, session.engine(snapshot.path)
    look = lambda *how: engine.observe_fully(snapshot.path, snapshot.text, name, *how)
    assert isinstance(await job(session, snapshot, look), Observation)


async def test_a_job_leaves_the_menus_of_other_files_alone_and_renews_its_own(session: Session, tmp_path: Path) -> None:
    own, other = opened(session, tmp_path / "own.py", LINEAR_SUM), opened(session, tmp_path / "other.py", PLAIN)
    before, beside = await menu(session, own), await menu(session, other)
    step = await stepped(session, own)
    after = await menu(session, own)
    assert before.observation.graph is None
    assert after.observation.graph is not None
    assert after.observation.history == (step,)
    assert await menu(session, other) is beside


async def test_a_job_that_taught_nothing_leaves_the_menu_of_its_kernel_alone(session: Session, tmp_path: Path) -> None:
    own = opened(session, tmp_path / "own.py", LINEAR_SUM)
    await looked_at(session, own)
    before = await menu(session, own)
    await looked_at(session, own)
    assert await menu(session, own) is before


async def test_a_step_taken_back_renews_the_menu(session: Session, tmp_path: Path) -> None:
    own = opened(session, tmp_path / "own.py", LINEAR_SUM)
    step = await stepped(session, own)
    before = await menu(session, own)
    session.engine(own.path).mark_reverted(own.path, (step.id,))
    after = await menu(session, own)
    assert (before.observation.history, after.observation.history[0].id) == ((step,), step.id)
    assert after.observation.history != before.observation.history


async def test_a_device_and_settings_renew_menus(session: Session, tmp_path: Path) -> None:
    own = opened(session, tmp_path / "own.py", LINEAR_SUM)
    before = await menu(session, own)
    session.engine(own.path).observer.known_device = None
    without = await menu(session, own)
    assert without.observation.device != before.observation.device
    session.use(Settings(threads=1, timing_budget=0.2, disabled_strategies="torch.fuse-pointwise"))
    assert await menu(session, own) is not without
