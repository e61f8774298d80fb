"""One job at a time per device, a person's request before background checks, otherwise in the order of asking."""

import asyncio
import contextlib
import heapq
import itertools
from collections.abc import AsyncIterator
from enum import IntEnum


class Priority(IntEnum):
    REQUEST = 0
    BACKGROUND = 1


class Turns:
    """A lock whose waiters are served by priority; `busy` while somebody holds it."""

    def __init__(self) -> None:
        self.busy = False
        self._waiting: list[tuple[Priority, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    @contextlib.asynccontextmanager
    async def turn(self, priority: Priority = Priority.REQUEST) -> AsyncIterator[None]:
        """Wait for this caller's turn, and hold it inside the block."""
        if self.busy:
            mine = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (priority, next(self._numbers), mine))
            try:
                await mine
            except asyncio.CancelledError:
                if mine.done() and not mine.cancelled():
                    self._release()  # the turn had come in the same moment
                raise
        self.busy = True
        try:
            yield
        finally:
            self._release()

    def _release(self) -> None:
        while self._waiting:
            _, _, next_one = heapq.heappop(self._waiting)
            if not next_one.done():
                next_one.set_result(None)
                return
        self.busy = False
