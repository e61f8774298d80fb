"""The one folder that an agent may work in, and what is open in it."""

import asyncio
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


@dataclass(frozen=True)
class Workspace:
    """`root` is absolute, and no link. `writing` is held from reading a file to writing it; `jobs` are the running ones."""

    root: Path
    engine: Engine
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    jobs: set[asyncio.Future[Any]] = field(default_factory=set)

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
        return Opened(path, files.read(path), of_file(path))

    def name(self, path: Path) -> str:
        """The path as an agent gives it."""
        return str(path.relative_to(self.root))


def given(answer: T | Refusal | Failure) -> T:
    """The answer, where there is one. Raises BadInput with why there is none."""
    if isinstance(answer, Refusal):
        raise BadInput(answer.reason)
    if isinstance(answer, Failure):
        raise BadInput(sentence(answer))
    return answer


def sentence(failure: Failure) -> str:
    """Why there is no result; the setting that is named is an option of this server."""
    chooses = failure.kind in (FailureKind.NO_INTERPRETER, FailureKind.MISSING_PACKAGE)
    said = words.of_failure(failure)
    return f"{said} Here that is the server's option --interpreter." if chooses else said
