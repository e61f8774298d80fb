"""What Triton does once in a process before it compiles and launches anything: done ahead, for all that are forked from it.

The names of compiled kernels begin with a hash of Triton's own binary, which has more than 400 MB, and the driver's helper
is built with a C compiler where the folder for compiled kernels is new, as each text's is.
"""

import contextlib
import functools
import importlib
from collections.abc import Callable


@functools.cache
def get_ready() -> None:
    """Have this process, and those forked from it, remember what Triton finds out. Makes no CUDA context, runs no user code.

    What is missing (Triton, a C compiler, a GPU) is the job's to tell; another version may keep things elsewhere.
    """
    for step in STEPS:
        step()


def _step(deed: Callable[[], object]) -> Callable[[], None]:
    def done() -> None:
        with contextlib.suppress(Exception):
            deed()

    return done


# Each takes a few tenths of a second, between which a process that has the time can see whether it is wanted.
STEPS: tuple[Callable[[], None], ...] = (
    _step(lambda: importlib.import_module("triton.runtime.cache").triton_key()),
    _step(lambda: importlib.import_module("triton.runtime.driver").driver.active),  # asking for it builds and loads it
    _step(lambda: importlib.import_module("triton.knobs").nvidia.ptxas),  # asking for it runs it, for its version
    _step(lambda: importlib.import_module("triton.experimental.gluon.nvidia.hopper")),  # which launches ask for
)
