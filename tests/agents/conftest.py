"""One agent for the tests of a file: its server and its workers stay."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from agents.agent import Agent, at_work


@pytest_asyncio.fixture(scope="module")
async def agent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Agent]:
    """Its client lives in a task of its own, which the SDK wants to begin and end it. It is cold where a file says COLD."""
    ready: asyncio.Future[Agent] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def live() -> None:
        cold = getattr(request.module, "COLD", False)
        async with at_work(tmp_path_factory.mktemp("workspace"), cold=cold) as agent:
            ready.set_result(agent)
            await done.wait()

    life = asyncio.ensure_future(live())
    await asyncio.wait({ready, life}, return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        await life
    yield ready.result()
    done.set()
    await life
