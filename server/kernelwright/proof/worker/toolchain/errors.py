"""What g++, clang or nvcc says of a text, read as errors at their places in it. Standard library only."""

import re
from dataclasses import dataclass
from pathlib import PurePath

from kernelwright.proof.worker.toolchain.translation import Translated

SOURCE = "kernelwright_text.cu"  # the name under which a text is compiled
_ERROR = re.compile(r"^([^\n():]+)[:(](\d+)(?:[:,](\d+))?\)?: (?:fatal |catastrophic )?error:? ([^\n]*)$")
_INCLUDED = re.compile(rf"^(?:In file included|\s+) from [^\n]*{SOURCE}:(\d+)")
_MISSING = re.compile(r"(?:file|header)[^\n]* not found|[Nn]o such file|cannot open source file")


@dataclass(frozen=True)
class CompileError:
    """One error, at a line and where it is known a column of the text, both from 0.

    `is_missing_file`: an include was not found, so what follows it was not compiled.
    """

    line: int
    column: int | None
    message: str
    is_missing_file: bool = False


def errors_of(said: str, text: str, made: Translated) -> tuple[CompileError, ...]:
    """Read the errors that a compiler has printed about `made`, which was made of `text`.

    One in a header is told at the `#include` through which the text comes to it.
    """
    found: dict[tuple[int, str], CompileError] = {}
    through: int | None = None
    lines = made.text.split("\n")
    for line in said.splitlines():
        if (included := _INCLUDED.match(line)) is not None:
            through = int(included[1]) - 1
        error = _ERROR.match(line)
        if error is None:
            continue
        file, number, message = PurePath(error[1]).name, int(error[2]) - 1, plain(error[4])
        is_missing = _MISSING.search(message) is not None
        if file == SOURCE:
            column = (
                made.column(text, number, _characters(lines[number], int(error[3]) - 1))
                if error[3] and number < len(lines)
                else None
            )
            one = CompileError(number, column, message, is_missing)
        elif through is not None:
            one = CompileError(through, None, f"in {file}, line {number + 1}: {message}", is_missing)
        else:
            continue
        found.setdefault((one.line, one.message), one)
    return tuple(found.values())


def _characters(line: str, count: int) -> int:
    """How many characters the first bytes of a line are."""
    return len(line.encode("utf-8", "surrogatepass")[:count].decode("utf-8", "replace"))


def plain(words: str) -> str:
    """A compiler's words with plain quotation marks, without guesses at names (which may be the emulator's) and full stop."""
    words = words.partition("; did you mean")[0]
    return words.replace("‘", "'").replace("’", "'").strip().rstrip(".")[:300]
