"""How long a case may take that nobody asked for."""

import contextlib
import math
import time
from collections.abc import Iterator

_ends = math.inf


class TooLong(Exception):
    """A call that went on for longer than its case is worth."""


@contextlib.contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Let calls of this process within end by TooLong after so many seconds, where they look at the time (`check`)."""
    global _ends
    before, _ends = _ends, min(_ends, time.monotonic() + seconds)
    try:
        yield
    finally:
        _ends = before


def over() -> bool:
    return time.monotonic() > _ends


def check() -> None:
    """Raises TooLong where the time is over."""
    if over():
        raise TooLong
