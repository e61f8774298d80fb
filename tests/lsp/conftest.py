"""Editors that are started for a test and stopped after it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from lsp.editor import Editor, start, stop


@pytest_asyncio.fixture(params=["visual_studio_code", "neovim", "emacs"])
async def editor(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Editor]:
    """Each test runs in every editor."""
    editor = await start(tmp_path, request.param)
    yield editor
    await stop(editor)


@pytest_asyncio.fixture
async def code(tmp_path: Path) -> AsyncIterator[Editor]:
    """VS Code alone, for what does not depend on the editor."""
    editor = await start(tmp_path)
    yield editor
    await stop(editor)
