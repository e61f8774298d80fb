"""How every command ends: quietly when interrupted, with one sentence on bad input, and never with a traceback."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from kernelwright.mistakes import BadInput, Lacking, unexpected

DONE, GATE_FAILED, BAD_INPUT, LACKING = range(4)
INTERRUPTED, NOBODY_READS = 130, 141  # as shells tell of signals


@contextlib.contextmanager
def told_in_words(json_out: Path | None = None) -> Iterator[None]:
    """Exit with 2 and one sentence on BadInput or on an error of our own, with 3 on Lacking, with 130 and no words on Ctrl-C.

    A standard stream that is closed is opened as nothing: else the next file or socket would take its number and its output.
    Where `json_out` is stdout, all that is said goes to stderr.
    """
    _open_closed_streams()
    try:
        with _aside(json_out):
            yield
    except BadInput as error:
        _tell(str(error))
        sys.exit(LACKING if isinstance(error, Lacking) else BAD_INPUT)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001  the last place that can turn a mistake of ours into words
        _tell(unexpected(error))
        sys.exit(BAD_INPUT)


def _aside(json_out: Path | None) -> contextlib.AbstractContextManager[None]:
    if json_out is None:
        return contextlib.nullcontext()
    from kernelwright import files
    from kernelwright.cli.console import aside

    return aside() if json_out == files.STDOUT else contextlib.nullcontext()


def _open_closed_streams() -> None:
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, as a rule this one
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def _tell(sentence: str) -> None:
    from rich.markup import escape

    from kernelwright.cli.console import ERR

    with contextlib.suppress(BadInput):  # nothing can be told there
        ERR.print(f"[red]kernelwright:[/] {escape(sentence)}")
