"""A Python text run as a module: what it imports lies beside its file, and what it has loaded can be forgotten."""

import importlib
import itertools
import linecache
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import CodeType, ModuleType

from kernelwright.proof.worker import ran
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.languages.python.other_pages import Pages, leave_place
from kernelwright.proof.worker.raised import failure_of, line_of, scratch_folder, trace_of
from kernelwright.proof.worker.subject import lies_in
from kernelwright.proof.worker.without_gpu import user_code
from kernelwright.values import Failure, FailureKind, pages

_numbers = itertools.count(1)


def load_module(path: str, text: str, name: str = "subject") -> ModuleType:
    """`text` run as a module of its own, never as `__main__`.

    The text is written to a scratch file, so that inspect.getsource, Triton and tracebacks find it. Imports see the folder
    of `path`, no longer that of a file loaded before; relative imports work in a package. Of a joined text the last page is
    run, as its file, and the others stand in the place of theirs. Raises JobFailed with IMPORT_FAILED or MISSING_PACKAGE, the
    line of `text` counted from 0.
    """
    scratch = scratch_folder() / str(next(_numbers))
    scratch.mkdir()
    *others, last = pages(text)
    home = Path(path).resolve().parent
    given, path = path, os.path.normpath(home / last.name) if others else path
    text = "\n" * last.line + last.text
    folder = Path(path).resolve().parent
    file = scratch / (Path(path).name or "subject.py")
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    package = _package_of(folder)
    module = ModuleType(f"{package + '.' if package else ''}_kernelwright_{name}_{scratch.name}")
    module.__file__ = str(file)
    module.__package__ = package
    leave_place()
    _make_importable(folder, package)
    served = _served_to(module, {Path(given).resolve(): others[0].text, Path(path).resolve(): text}) if others else None
    # Classes find their source through sys.modules; the entry also keeps pickling and dataclasses working.
    sys.modules[module.__name__] = module
    try:
        code = ran.compiled(text, str(file), module.__dict__)
        with user_code():
            _run(code, module)
    except (Exception, SystemExit) as error:
        unload(module)
        raise JobFailed(_import_failure(error)) from error
    if served is not None and Path(given).resolve() not in served.read:
        unload(module)
        message = (
            f"Loading {Path(path).name} does not import {Path(given).name}, so that its kernel could not be replaced."
        )
        raise JobFailed(Failure(FailureKind.IMPORT_FAILED, message))
    return module


def _served_to(module: ModuleType, texts: Mapping[Path, str]) -> Pages:
    """Have the imports of a module find `texts` in the place of their files, and nothing that was imported before."""
    assert module.__file__ is not None
    scratch, copies = Path(module.__file__).parent, dict[Path, Path]()
    for number, (file, text) in enumerate(texts.items()):
        copies[file] = scratch / str(number) / file.name
        copies[file].parent.mkdir()
        copies[file].write_text(text, encoding="utf-8", errors="surrogatepass")
    roots = [*(file.parent for file in texts), *(_root_of(file.parent, _package_of(file.parent)) for file in texts)]
    served = _pages_of[module.__name__] = Pages(texts, copies, roots)
    module.__dict__["__builtins__"] = served.builtins()
    served.take_place()
    return served


def _run(code: CodeType, module: ModuleType) -> None:
    """Run a module's code. Where its imports lead in a ring, which they do not from its package, that is imported before."""
    known = set(sys.modules)
    try:
        exec(code, module.__dict__)
    except ImportError as error:
        if not module.__package__ or "partially initialized" not in str(error):
            raise
        for name in set(sys.modules) - known:  # imported by half
            if name.split(".")[0] == module.__package__.split(".")[0]:
                del sys.modules[name]
        importlib.import_module(module.__package__)
        exec(code, module.__dict__)


def unload(module: ModuleType) -> None:
    """Forget a module that load_module made, so that its kernels and tensors can be freed."""
    sys.modules.pop(module.__name__, None)
    if (served := _pages_of.pop(module.__name__, None)) is not None:
        served.close()
    if module.__file__ and Path(module.__file__).is_relative_to(scratch_folder()):
        linecache.cache.pop(module.__file__, None)
        shutil.rmtree(Path(module.__file__).parent, ignore_errors=True)


def forget_neighbours(path: str) -> None:
    """Drop imported modules that lie in the folder of `path`, so that the next load sees what is on disk now."""
    for name in neighbours(path):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()  # only now: bare folders that are imported would all be looked for again


def neighbours(path: str) -> dict[str, Path]:
    """The imported modules that lie in the folder of `path`, with their files; nothing that was installed."""
    folder = Path(path).resolve().parent
    found: dict[str, Path] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or next(iter(vars(module).get("__path__", ())), None)  # a bare folder
        if isinstance(file, str) and name.split(".")[0] != "kernelwright" and lies_in(folder, file):
            found[name] = Path(file)
    return found


def _import_failure(error: BaseException) -> Failure:
    line = line_of(error)
    if isinstance(error, ModuleNotFoundError):
        message = (
            f"The file imports {error.name!r}, which {sys.executable} does not have: install it there, or set "
            "kernelwright.interpreter to the Python that has it."
        )
        return Failure(FailureKind.MISSING_PACKAGE, message, trace_of(error), line)
    at = f" at line {line + 1}" if line is not None else ""
    return failure_of(error, f"Importing the file failed{at}:", FailureKind.IMPORT_FAILED)


def _package_of(folder: Path) -> str:
    names: list[str] = []
    while (folder / "__init__.py").exists() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names)


def _root_of(folder: Path, package: str) -> Path:
    """The folder that a package is imported from; the folder itself where it is none."""
    return folder.parents[package.count(".")] if package else folder


_pages_of: dict[str, Pages] = {}  # what modules of joined texts import, by their names
_importable: list[str] = []  # the folders that the last text imports from, apart from those that were there before


def _make_importable(folder: Path, package: str) -> None:
    wanted = [str(folder), *([str(_root_of(folder, package))] if package else [])]
    for place in [place for place in _importable if place not in wanted]:
        _importable.remove(place)
        sys.path.remove(place)
        forget_neighbours(f"{place}/file.py")  # and what was imported from there
    for place in reversed(wanted):
        if place not in sys.path:
            sys.path.insert(0, place)
            _importable.append(place)
