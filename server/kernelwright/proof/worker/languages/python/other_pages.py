"""What the code of a text of several pages imports: the pages in the place of their files, and modules that have seen these.

Such texts may be loaded beside each other in one process. Each has its own modules of these files, and of those that import
them, which take their place in `sys.modules` while its code imports. Others are shared: they may be slow to load, and may
register operators, which can be done once.
"""

import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from kernelwright.proof.worker import ran
from kernelwright.proof.worker.subject import lies_in

_OURS = "kernelwright"
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+import[ \t]+(?:\([^)]*\)|[^\n#;]*)|import[ \t]+[^\n#;]+)", re.MULTILINE
)
_NAME = re.compile(r"\w+")


class Pages(importlib.abc.MetaPathFinder):
    """Serves `texts`, by their files, to imports from below the folders `roots`.

    A text is written to its place in `copies`, where inspect.getsource and Triton find it.
    """

    _current: "Pages | None" = None

    def __init__(self, texts: Mapping[Path, str], copies: Mapping[Path, Path], roots: Sequence[Path]) -> None:
        self._texts = dict(texts)
        self._copies = dict(copies)
        self._roots = tuple(dict.fromkeys(roots))
        self._modules: dict[str, ModuleType] = {}  # its own ones, while another text's are in place
        self._served: dict[str, Path] = {}
        self._stems = {file.parent.name if file.stem == "__init__" else file.stem for file in self._texts}
        self._first_names = {Path(entry).stem for root in self._roots for entry in os.listdir(root)}
        self._first_names |= {root.name for root in self._roots}

    @property
    def read(self) -> frozenset[Path]:
        """The files whose texts were imported."""
        return frozenset(self._served.values())

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.rpartition(".")[2] not in self._stems:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        file = Path(spec.origin).resolve() if spec is not None and spec.origin else None
        if spec is None or file not in self._texts:
            return None
        spec.loader = _Loader(self, self._texts[file], self._copies[file])
        self._served[name] = file
        return spec

    def take_place(self) -> None:
        """Have imports find the modules of this text."""
        if Pages._current is self:
            return
        leave_place()
        _forget(self._roots, dict.fromkeys(self._names()))
        sys.modules.update(self._modules)
        for name, module in self._modules.items():
            package, _, own = name.rpartition(".")
            if package in sys.modules:
                setattr(sys.modules[package], own, module)
        sys.meta_path.insert(0, self)
        Pages._current = self

    def _names(self) -> list[str]:
        """The names of the modules that stand for the files now, however they were imported."""
        files = {str(file) for file in self._texts}
        return [name for name, module in list(sys.modules.items()) if getattr(module, "__file__", None) in files]

    def leave(self) -> None:
        """Have imports find what is on the disk again, until code of this text imports the next time."""
        if Pages._current is self:
            sys.meta_path.remove(self)
            self._modules = _forget(self._roots, self._served)
            Pages._current = None

    def close(self) -> None:
        self.leave()
        self._modules = {}

    def builtins(self) -> dict[str, Any]:
        """The builtins of code that imports what this text has imported, also later, when it is called."""
        own = vars(builtins)

        def imported(name: str, given: Any = None, local: Any = None, names: Any = (), level: int = 0) -> ModuleType:
            if level or name.partition(".")[0] in self._first_names:
                self.take_place()
            module: ModuleType = builtins.__import__(name, given, local, names, level)
            return module

        return {**own, "__import__": imported}


class _Loader(importlib.abc.Loader):
    def __init__(self, pages: Pages, text: str, copy: Path) -> None:
        self._pages = pages
        self._text = text
        self._copy = copy

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._copy)
        module.__dict__["__builtins__"] = self._pages.builtins()
        exec(ran.compiled(self._text, str(self._copy), module.__dict__), module.__dict__)


def leave_place() -> None:
    """Have imports find what is on the disk."""
    if Pages._current is not None:
        Pages._current.leave()


def _forget(roots: Sequence[Path], served: Mapping[str, object]) -> dict[str, ModuleType]:
    """Drop the modules that were served, and those below the roots that import them, directly or not; returns all."""
    found = {name: sys.modules[name] for name in served if name in sys.modules}
    others = {name: module for name, module in list(sys.modules.items()) if _lies_below(roots, name, module)}
    imported = {name: _imported(str(module.__file__)) for name, module in others.items() if name not in found}
    gone = {name.rpartition(".")[2] for name in found}
    while more := {name for name, words in imported.items() if not gone.isdisjoint(words)} - found.keys():
        found |= {name: others[name] for name in more}
        gone |= {name.rpartition(".")[2] for name in more}
    for name, module in found.items():
        del sys.modules[name]
        package, _, own = name.rpartition(".")
        if package in sys.modules and vars(sys.modules[package]).get(own) is module:
            delattr(sys.modules[package], own)
    importlib.invalidate_caches()
    return found


def _imported(file: str) -> frozenset[str]:
    """All names in the import statements of a file."""
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    return frozenset(name for statement in _IMPORT.findall(text) for name in _NAME.findall(statement))


def _lies_below(roots: Sequence[Path], name: str, module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and name.split(".")[0] != _OURS and any(lies_in(root, file) for root in roots)
