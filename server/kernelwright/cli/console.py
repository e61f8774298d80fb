"""What every command shares: reading a file, finding its kernel, showing progress, writing JSON, ending on bad input."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from kernelwright import wire
from kernelwright.engine import workload_of
from kernelwright.settings import Settings
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.values import Kernel, Refusal

# A pipe or a log has no width; 80 columns would break the tables' rows.
OUT = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 160)
ERR = Console(stderr=True, highlight=False, soft_wrap=True)

_COUNTING = re.compile(r",? (?:case|variant) \d+ of \d+")

DONE, GATE_FAILED, BAD_INPUT = 0, 1, 2


class BadInput(Exception):
    """One sentence that says what to change."""


@contextmanager
def ends_on_bad_input() -> Iterator[None]:
    """Print the sentence of a BadInput and exit with 2."""
    try:
        yield
    except BadInput as error:
        ERR.print(f"[red]kernelwright:[/] {escape(str(error))}")
        sys.exit(BAD_INPUT)


def read(file: Path) -> str:
    """The file's text with its line ends as they are. Raises BadInput."""
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise BadInput(f"{file} does not exist.") from None
    except IsADirectoryError:
        raise BadInput(f"{file} is a folder; name a Python file.") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{file} is not UTF-8 (byte {error.start}); save it as UTF-8 first.") from None
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}.") from None


def write(file: Path, text: str) -> None:
    """Replace the file's text. Raises BadInput."""
    try:
        file.write_bytes(text.encode("utf-8"))
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}; nothing was changed.") from None


def find_kernel(file: Path, text: str, name: str | None) -> Kernel:
    """The kernel called `name`, or the only one that has a workload. Raises BadInput."""
    kernels = find_kernels(parse(text))
    if not kernels:
        raise BadInput(f"{file} has no kernel: no launched @triton.jit function, no nn.Module, no tensor function.")
    names = ", ".join(k.name for k in kernels)
    if name is not None:
        chosen = next((k for k in kernels if k.name == name), None)
        if chosen is None:
            raise BadInput(f"{file} has no kernel {name!r}; it has {names}.")
        return chosen
    ready = [k for k in kernels if not isinstance(workload_of(text, k), Refusal)]
    if len(ready) > 1:
        raise BadInput(f"{file} has several kernels with a workload; choose one with --kernel: {names}.")
    if not ready:
        reason = workload_of(text, kernels[0])
        raise BadInput(reason.reason if isinstance(reason, Refusal) else f"{file} has no workload.")
    return ready[0]


def workspace_of(file: Path) -> Path:
    """The folder that keeps the journal: the nearest one that has one or is a repository, else the file's own."""
    folder = file.resolve().parent
    for candidate in (folder, *folder.parents):
        if (candidate / ".kernelwright").is_dir() or (candidate / ".git").exists():
            return candidate
    return folder


def settings_for(interpreter: str | None, **changes: object) -> Settings:
    return Settings(**{"interpreter": interpreter or "", **changes})  # type: ignore[arg-type]


@contextmanager
def progress(title: str) -> Iterator["Progress"]:
    """A live line on a terminal, plain lines elsewhere."""
    if ERR.is_terminal:
        with ERR.status(escape(title)) as status:
            yield Progress(lambda words: status.update(escape(words)))
    else:
        yield Progress(lambda words: ERR.print(f"  … {escape(words)}"), brief=True)


class Progress:
    """Reports stages in words, each once. `brief` leaves out the counting within a stage, which would flood a log."""

    def __init__(self, show: Callable[[str], None], *, brief: bool = False) -> None:
        self._show = show
        self._brief = brief
        self._last = ""

    def __call__(self, stage: str) -> None:
        words = _COUNTING.split(stage)[0] if self._brief else stage
        if words != self._last:
            self._last = words
            self._show(words)


def write_json(out: Path | None, result: dict[str, object]) -> None:
    """Write `result`, whose leaves are values, beside its schema number. Raises BadInput."""
    if out is None:
        return
    write(out, json.dumps(wire.encode({"schema": 1, **result}), indent=2) + "\n")
