"""What Triton does once in a process before it compiles and launches anything: done ahead, for all that are forked from it.

The names of compiled kernels begin with a hash of Triton's own binary, which has more than 400 MB, and the driver's helper
is built with a C compiler where the folder for compiled kernels is new, as each text's is.
"""

import contextlib
import functools
import importlib


@functools.cache
def get_ready() -> None:
    """Have this process, and those forked from it, remember what Triton finds out. Makes no CUDA context, runs no user code.

    What is missing (Triton, a C compiler, a GPU) is the job's to tell; another version may keep things elsewhere.
    """
    for deed in (_hash, _load_driver, _find_assembler, _import_what_launches_ask_for):
        with contextlib.suppress(Exception):
            deed()


def _hash() -> None:
    importlib.import_module("triton.runtime.cache").triton_key()


def _load_driver() -> None:
    importlib.import_module("triton.runtime.driver").driver.active  # noqa: B018  (asking for it builds and loads it)


def _find_assembler() -> None:
    importlib.import_module("triton.knobs").nvidia.ptxas  # noqa: B018  (asking for it runs it, for its version)


def _import_what_launches_ask_for() -> None:
    importlib.import_module("triton.experimental.gluon.nvidia.hopper")
