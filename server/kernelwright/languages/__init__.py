"""What is particular to the language of a document, behind one protocol. A language is loaded with its first document."""

import importlib
from dataclasses import dataclass
from pathlib import PurePath

from kernelwright.languages.support import LanguageSupport, SyntaxProblem, Unit, absence
from kernelwright.languages.unread import Unread

__all__ = ["LANGUAGES", "LanguageSupport", "SyntaxProblem", "Unit", "absence", "of_file", "support_of"]


@dataclass(frozen=True)
class Row:
    """A language as far as it is known without loading it. `module` holds its `SUPPORT`.

    `also`: other ids that editors send for it.
    """

    title: str
    suffixes: tuple[str, ...]
    module: str
    also: tuple[str, ...] = ()


LANGUAGES = {
    "python": Row("Python", (".py",), "kernelwright.languages.python"),
    "cuda-cpp": Row("CUDA C++", (".cu", ".cuh"), "kernelwright.languages.cuda", ("cuda",)),
}
"""The languages by their ids in `textDocument/didOpen`."""


def support_of(language_id: str) -> LanguageSupport:
    """The language of a document, as the editor says it."""
    row = next((row for id, row in LANGUAGES.items() if language_id in (id, *row.also)), None)
    return importlib.import_module(row.module).SUPPORT if row is not None else _unread(language_id)


def of_file(path: PurePath) -> LanguageSupport:
    """The language of a file that no editor has opened, by its suffix."""
    known = (language_id for language_id, row in LANGUAGES.items() if path.suffix in row.suffixes)
    found = next(known, None)
    return support_of(found) if found is not None else _unread(path.suffix)


def _unread(kind: str) -> Unread:
    return Unread(kind, " or ".join(f"{row.title} ({', '.join(row.suffixes)})" for row in LANGUAGES.values()))
