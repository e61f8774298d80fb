"""Says which compilers a Python text brings into play, by what it imports and names. Pure."""

import functools
import re

from kernelwright.proof.worker.texts import names_in, parsed

_COMPILER = re.compile(r"torch\.(compile$|_dynamo\b|_inductor\b)")
_TRITON = re.compile(r"^[ \t]*(import|from)\s+triton\b", re.MULTILINE)


@functools.lru_cache(maxsize=16)  # asked for every call on poisoned memory
def compiles(text: str) -> bool:
    """Whether the text uses torch.compile, or what is behind it, by name.

    It steps aside under a dispatch mode, and then other code would run.
    """
    return any(_COMPILER.match(name) for name in names_in(parsed(text)))


def uses_triton(*texts: str) -> bool:
    """Whether one of the texts imports Triton."""
    return any(_TRITON.search(text) for text in texts)
