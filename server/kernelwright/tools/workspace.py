"""The one folder that an agent may work in, and what is open in it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from kernelwright import files, joining, words
from kernelwright.engine import Engine
from kernelwright.languages import LanguageSupport, absence, of_file
from kernelwright.mistakes import BadInput
from kernelwright.values import Failure, FailureKind, Kernel, Refusal, files_of, with_texts

T = TypeVar("T")


@dataclass(frozen=True)
class Opened:
    """A file of the workspace as it lies on the disk, or a kernel's file and the one that launches it as one text.

    `files` are absolute, and no links.
    """

    files: tuple[Path, ...]
    text: str
    support: LanguageSupport

    @property
    def path(self) -> Path:
        """The file that the journal knows its kernels by."""
        return self.files[0]

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
        return Opened((path,), text, self.language(path, text))

    def language(self, path: Path, text: str) -> LanguageSupport:
        """The language of a file, with the workload lines that the journal keeps for the files of its text."""
        return self.engine.observer.language(str(path), text, of_file(path))

    def open_kernel(self, named: str, kernel: str) -> Opened:
        """Read a kernel's file, and the file that launches it where one other does. Raises BadInput.

        Such a kernel can be named in the launching file as well.
        """
        opened = self.open(named)
        own = next((one for one in opened.support.kernels(opened.text) if one.name == kernel), None)
        if own is not None and not joining.may_be_joined(own):
            return opened
        found = joining.meant(self.root, opened.path, opened.text, kernel, opened.support)
        if not found:
            opened.kernel(kernel)
            return opened
        one = given(found[0])
        return self._together(one.text, [self.inside(str(file)) for file in one.files])

    def open_known(self, named: str, known: str) -> Opened:
        """Read the files of a text that the journal has of a file. Raises BadInput."""
        path = self.inside(named)
        return self._together(known, [self.inside(file) for file in files_of(str(path), known)])

    def _together(self, known: str, paths: Sequence[Path]) -> Opened:
        texts = [files.read(path) for path in paths]
        for path, text in zip(paths, texts, strict=True):
            self._check_saved(path, text)
        return Opened(tuple(paths), with_texts(known, texts), self.language(paths[0], known))

    def write(self, opened: Opened, text: str) -> str:
        """Put `text` in the place of what was read: all of its files or none; the names of those that it changes.

        Raises BadInput where somebody has changed one.
        """
        changes = joining.changes(opened.files, opened.text, text)
        for path, expected, _ in changes:
            self._check_saved(path, expected)
        files.replace_all(changes)
        return " and ".join(self.name(path) for path, _, _ in changes)

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
