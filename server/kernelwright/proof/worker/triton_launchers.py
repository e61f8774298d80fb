"""Launchers that this process has loaded: before Triton 3.7 a C module for each signature of a kernel, 0.3 s of C compiler.

A text whose kernels take arguments of the same types finds copies of them where its own are kept, and compiles none.
"""

import contextlib
import functools
import importlib
import shutil
from pathlib import Path

_NAME = "__triton_launcher"
_MOST = 64  # of the last ones loaded

_loaded: dict[Path, None] = {}  # the last one last


@functools.cache
def take_note() -> None:
    """Remember from now on which launchers this process loads. Another version of Triton may have none."""
    with contextlib.suppress(ImportError, AttributeError):
        build = importlib.import_module("triton.runtime.build")
        load = build._load_module_from_path

        @functools.wraps(load)
        def noted(name: str, path: str):
            module = load(name, path)
            if name == _NAME:
                _loaded.pop(Path(path), None)
                _loaded[Path(path)] = None
            return module

        build._load_module_from_path = noted


def copy_to(cache: Path) -> None:
    """Put copies into `cache`, Triton's folder for compiled kernels of a process that runs nothing yet.

    Their folders are named by a hash of their C code, which Triton writes from the types of the arguments alone.
    """
    for path in list(_loaded)[-_MOST:]:
        with contextlib.suppress(OSError):  # the text compiles its own where there is none
            folder = cache / path.parent.name
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / path.name)
