"""What every command shares: finding the kernel and the workspace of a file, showing progress, writing JSON."""

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from kernelwright import files, wire, words
from kernelwright.cli.ending import NOBODY_READS
from kernelwright.journal import open_in_memory, open_journal
from kernelwright.journal.opening import is_begun
from kernelwright.languages import LanguageSupport, absence, of_file
from kernelwright.languages.kept import with_kept
from kernelwright.mistakes import BadInput, Lacking
from kernelwright.models import Provider
from kernelwright.models.choosing import of_settings
from kernelwright.settings import Settings
from kernelwright.values import Failure, FailureKind, KeptLines, Kernel, Refusal
from kernelwright.values.plain import plain


class _Stream(Console):
    """A Console on which no text of a file acts as an escape sequence.

    It ends the command where nobody reads what it prints, and says so where that cannot be written.
    """

    def print(self, *objects: Any, **how: Any) -> None:
        try:
            super().print(*(plain(o, lines=True) if isinstance(o, str) else o for o in objects), **how)
        except OSError as error:
            raise BadInput(f"The output cannot be written: {error.strerror or error}.") from None

    def on_broken_pipe(self) -> None:
        with contextlib.suppress(SystemExit):  # with 1, which means that the gate failed
            super().on_broken_pipe()
        sys.exit(NOBODY_READS)


# A pipe or a log has no width; 80 columns would break the tables' rows.
OUT = _Stream(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 160)
ERR = _Stream(stderr=True, highlight=False, soft_wrap=True)

_COUNTING = re.compile(r",? (?:case|variant|round) \d+ of \d+")


def languages(paths: Iterable[Path]) -> dict[Path, LanguageSupport]:
    """The language of each file, with the workload lines that the journal of its workspace keeps for it."""
    by_workspace, found = dict[Path, list[Path]](), dict[Path, LanguageSupport]()
    for file in paths:
        by_workspace.setdefault(workspace_of(file), []).append(file)
    for workspace, own in by_workspace.items():
        with open_in_memory(workspace) if is_begun(workspace) else contextlib.nullcontext() as journal:
            found |= {file: with_kept(of_file(file), journal.lines(file.resolve()) if journal else ()) for file in own}
    return found


def keep_lines(file: Path, lines: KeptLines) -> None:
    """Have the journal of a file's workspace keep lines. Raises BadInput where they would end with this command."""
    journal = open_journal(workspace_of(file))
    if isinstance(journal, Refusal):
        raise BadInput(journal.reason)
    with journal:
        journal.keep_lines(file.resolve(), lines)
        if not journal.persistent:
            raise BadInput(journal.notice)


def find_kernel(file: Path, text: str, name: str | None, *, whole: bool = False) -> Kernel:
    """The kernel called `name`, or the only one that has a workload; a helper of what the workload calls is another one's.

    With `whole` what the workload calls is meant as a whole, so that of several kernels behind it any will do. Raises BadInput.
    """
    support = languages([file])[file]
    kernels = support.kernels(text)
    if not kernels:
        raise BadInput(f"{file} {absence(support, text, kernels)}")
    if name is not None:
        chosen = next((k for k in kernels if k.name == name), None)
        if chosen is None:
            raise BadInput(f"{file} {absence(support, text, kernels, name)}")
        return chosen
    found = [(k, support.workload(text, k.entry)) for k in kernels]
    ready = [(k, workload) for k, workload in found if not isinstance(workload, Refusal)]
    called = [k for k, workload in ready if workload.entry == k.entry] or [k for k, _ in ready]
    if len(called) > 1 and not (whole and len({k.entry for k in called}) == 1):
        choices = ", ".join(k.name for k in called)
        raise BadInput(f"{file} has several kernels with a workload; choose one with --kernel: {choices}.")
    if not called:
        raise BadInput(next(r.reason for _, r in found if isinstance(r, Refusal)))
    return called[0]


def sentence(answer: Refusal | Failure) -> str:
    """Why there is no result; a setting that is named has its option beside it."""
    if isinstance(answer, Refusal):
        return answer.reason
    said = words.of_failure(answer)
    chooses = answer.kind in (FailureKind.NO_INTERPRETER, FailureKind.MISSING_PACKAGE)
    return f"{said} Here that is the option --interpreter." if chooses else said


def no_result(answer: Refusal | Failure) -> BadInput:
    """The end of a command that has no result."""
    lacks = isinstance(answer, Failure) and answer.lacks_something and answer.kind is not FailureKind.NO_INTERPRETER
    return (Lacking if lacks else BadInput)(sentence(answer))


def workspace_of(file: Path) -> Path:
    """The folder that keeps the journal: the nearest one that has one or is a repository, else the file's own."""
    folder = file.resolve().parent
    for candidate in (folder, *folder.parents):
        if (candidate / ".kernelwright").is_dir() or (candidate / ".git").exists():
            return candidate
    return folder


def settings_for(interpreter: str | None, **changes: Any) -> Settings:
    return Settings(**{"interpreter": interpreter or "", **changes})


def provider_for(settings: Settings) -> Provider | None:
    """The language model that the settings name, if any. Raises BadInput for what names none."""
    found = of_settings(settings)
    if isinstance(found, Refusal):
        raise BadInput(found.reason)
    return found


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


def write_json(out: Path | None, result: Mapping[str, object]) -> None:
    """Write `result`, whose leaves are values, beside its schema number. Raises BadInput."""
    if out is None:
        return
    text = json.dumps(wire.encode({"schema": 1, **result}), indent=2) + "\n"
    if out == files.STDOUT:
        _print(text)
    else:
        files.write_result(out, text)


def _print(text: str) -> None:
    """Print a text as it is. Raises BadInput."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        OUT.on_broken_pipe()
    except OSError as error:
        raise BadInput(f"The output cannot be written: {error.strerror or error}.") from None


@contextmanager
def aside() -> Iterator[None]:
    """Have all commands say on stderr what they say, so that a result is alone on stdout."""
    OUT.stderr = True
    try:
        yield
    finally:
        OUT.stderr = False
