"""What Triton does once in a process before it compiles and launches anything: done ahead, for all that are forked from it.

The names of compiled kernels begin with a hash of Triton's own binary, which has more than 400 MB, and the driver's helper
is built with a C compiler where the folder for compiled kernels is new, as each text's is.
"""

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any

_DEEDS: tuple[tuple[str, Callable[[Any], object]], ...] = (
    ("triton.runtime.cache", lambda module: module.triton_key()),
    ("triton.runtime.driver", lambda module: module.driver.active),  # asking for it builds and loads it
    ("triton.knobs", lambda module: module.nvidia.ptxas),  # asking for it runs it, for its version
    ("triton.experimental.gluon.nvidia.hopper", lambda module: None),  # which launches ask for
)


@functools.cache
def get_ready() -> None:
    """Have this process, and those forked from it, remember what Triton finds out. Makes no CUDA context, runs no user code.

    What is missing (Triton, a C compiler, a GPU) is the job's to tell; another version may keep things elsewhere.
    """
    for module, deed in _DEEDS:
        with contextlib.suppress(Exception):
            deed(importlib.import_module(module))
