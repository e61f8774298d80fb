"""The `main` of a text as something that can be called: it runs in a process of its own, and what it prints is the answer."""

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.proof.worker import ran
from kernelwright.proof.worker.languages.cuda.faults import fault, order
from kernelwright.proof.worker.toolchain import building, program

_SECONDS = 60  # for one run
_MOST_BYTES = 8 << 20  # of what is printed


@dataclass(frozen=True, eq=False)
class Program:
    """A program. `numbers`: those of its statements, of which `lines` are the lines; `told` makes a sentence readable."""

    built: building.Built
    path: str
    numbers: Sequence[int]
    lines: Sequence[int]
    told: Callable[[str], str]
    __name__ = "main"

    def __call__(self, *args: Any) -> tuple[int, str]:
        """The exit status, and what is printed to the standard output.

        Raises KernelFault, TimeoutError, RuntimeError where a signal ends it, and TypeError for what is no argument of one.
        """
        given = [self.path, *map(_argument, args)]
        with tempfile.TemporaryDirectory(prefix="kernelwright-program-") as scratch:
            request, answer, printed = (Path(scratch, name) for name in ("request", "answer", "printed"))
            asked = {
                "library": str(self.built.library),
                "emulated": self.built.emulated,
                "given": given,
                "lines": list(self.lines),
                "order": order(),
                "most_bytes": _MOST_BYTES,
            }
            request.write_text(json.dumps(asked), encoding="utf-8")
            code, words = _run(request, answer, printed)
            said = json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else {}
            text = printed.read_bytes().decode("utf-8", "replace")
        if said.get("failure"):
            raise fault(self.told(said["failure"]))
        if code < 0:
            raise RuntimeError(f"{_signal(-code)} ends the program{_last(words)}")
        self._note(said)
        return said.get("status", code), text

    def _note(self, said: dict[str, Any]) -> None:
        hits = [self.numbers[at] for at in said.get("hits", ())]
        turns = {self.numbers[at]: count for at, count in said.get("turns", ())}
        remarks = said.get("remarks", "")
        ran.note(hits, turns, said.get("launched", ()), (self.told(remarks),) if remarks else ())


def _run(request: Path, answer: Path, printed: Path) -> tuple[int, str]:
    """The exit status, negative for a signal, and what was written to the standard error."""
    command = [sys.executable, "-I", program.__file__, str(request), str(answer)]
    try:
        with printed.open("wb") as out:
            ended = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, timeout=_SECONDS, check=False
            )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"the program does not end within {_SECONDS} s: give it a smaller size") from None
    return ended.returncode, ended.stderr.decode("utf-8", "replace")


def _argument(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(f"main takes numbers and strings, as on a command line, and {type(value).__name__} is given")
    return str(value)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last(words: str) -> str:
    lines = words.strip().splitlines()
    return f", which says: {lines[-1]}" if lines else ""
