"""The one folder that an agent may work in, and what is open in it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from kernelwright import files, words
from kernelwright.engine import Engine
from kernelwright.languages import LanguageSupport, absence, of_file
from kernelwright.mistakes import BadInput
from kernelwright.values import Failure, FailureKind, Kernel, Refusal

T = TypeVar("T")


@dataclass(frozen=True)
class Opened:
    """A file of the workspace as it lies on the disk. `path` is absolute, and no link."""

    path: Path
    text: str
    support: LanguageSupport

    def kernel(self, name: str) -> Kernel:
        """The kernel called `name`. Raises BadInput."""
        kernels = self.support.kernels(self.text)
        found = next((kernel for kernel in kernels if kernel.name == name), None)
        if found is None:
            raise BadInput(f"{self.path.name} {absence(self.support, self.text, kernels, name)}")
        return found


class NoPython(BadInput):
    """There is no Python that runs kernels, or it lacks a package."""


@dataclass(frozen=True)
class Workspace:
    """`root` is absolute, and no link. `writing` is held from reading a file to writing it; `jobs` are the running ones.

    `unsaved`: whether an editor has another text of a file than the disk.
    """

    root: Path
    engine: Engine
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    jobs: set[asyncio.Future[Any]] = field(default_factory=set)
    unsaved: Callable[[Path, str], bool] = lambda path, text: False

    def inside(self, named: str) -> Path:
        """The path of a file of this workspace, wherever links lead. Raises BadInput for one that is not inside of it."""
        try:
            path = (self.root / named).resolve()
        except (OSError, ValueError, RuntimeError):  # a ring of links, or a character that no path has
            raise BadInput(f"{named!r} is no path of a file.") from None
        if not path.is_relative_to(self.root):
            raise BadInput(f"{named} is outside of the workspace {self.root}; only files inside of it are looked at.")
        return path

    def open(self, named: str) -> Opened:
        """Read a file of this workspace. Raises BadInput."""
        path = self.inside(named)
        text = files.read(path)
        self._check_saved(path, text)
        return Opened(path, text, of_file(path))

    def replace(self, path: Path, expected: str, text: str) -> None:
        """Put `text` in the place of `expected`, the text that was read. Raises BadInput where somebody has changed it."""
        self._check_saved(path, expected)
        files.replace(path, expected, text)

    def _check_saved(self, path: Path, text: str) -> None:
        if self.unsaved(path, text):
            raise BadInput(f"{self.name(path)} has changes in the editor that are not saved; save it, then ask again.")

    def name(self, path: Path) -> str:
        """The path as an agent gives it."""
        return str(path.relative_to(self.root))


def given(answer: T | Refusal | Failure) -> T:
    """The answer, where there is one. Raises BadInput with why there is none."""
    if isinstance(answer, Refusal):
        raise BadInput(answer.reason)
    if isinstance(answer, Failure):
        raise no_answer(answer)
    return answer


def no_answer(failure: Failure) -> BadInput:
    """Why there is no result."""
    chooses = failure.kind in (FailureKind.NO_INTERPRETER, FailureKind.MISSING_PACKAGE)
    return (NoPython if chooses else BadInput)(words.of_failure(failure))
