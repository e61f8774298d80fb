"""Editors: one of each kind for all tests, and fresh ones."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio

from lsp.editor import Editor, start, stop

Windows = Callable[[str], Awaitable[Editor]]


@pytest_asyncio.fixture(scope="session")
async def windows(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Windows]:
    """The one editor of each kind, with nothing open, and files in a folder of their own. Server and workers stay."""
    opened: dict[str, Editor] = {}
    numbers = count()
    async with contextlib.AsyncExitStack() as stack:

        async def window(kind: str) -> Editor:
            if kind not in opened:
                opened[kind] = await start(tmp_path_factory.mktemp(kind), kind)
                stack.push_async_callback(stop, opened[kind])
            editor = opened[kind]
            (editor.workspace / "started").unlink(missing_ok=True)  # which SLOW leaves
            editor.move_to(editor.workspace / f"of_test_{next(numbers)}")
            await editor.configure()
            return editor

        yield window


@pytest_asyncio.fixture(params=["visual_studio_code", "neovim", "emacs"])
async def editor(request: pytest.FixtureRequest, windows: Windows) -> Editor:
    """Each test runs in every editor."""
    return await windows(request.param)


@pytest_asyncio.fixture
async def code(windows: Windows) -> Editor:
    """VS Code alone, for what does not depend on the editor."""
    return await windows("visual_studio_code")


@pytest_asyncio.fixture
async def fresh(tmp_path: Path) -> AsyncIterator[Editor]:
    """VS Code with a server of this test alone, for what outlasts a test: settings, processes and the journal's state."""
    editor = await start(tmp_path)
    yield editor
    await stop(editor)


@pytest_asyncio.fixture
async def cold(tmp_path: Path) -> AsyncIterator[Editor]:
    """As `fresh`, and its workers start as a user's do: they are children of the server."""
    editor = await start(tmp_path, cold=True)
    yield editor
    await stop(editor)
