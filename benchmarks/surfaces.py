"""Every control and exploit as a person meets it: through the command line and through one warm language server.

    python -m benchmarks.surfaces [--only WORD] [--surface command-line|server] [--jobs N]

Says where the gate's word there is another one than the case's, which a Trial is held to. Exit status 1 where it is.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from benchmarks.lsp_client import Window, opened
from corpus import Case, cases

from cheats.outcome import as_expected, ended_by, file_of
from kernelwright import wire
from kernelwright.cli.console import find_kernel
from kernelwright.proof.jobs import TrialResult
from kernelwright.values import Failure, FailureKind, Refusal

COMMAND_LINE, SERVER = "command-line", "server"
# What Python is called with. -P, as the console script has it: a kernelwright.py in the folder is not ours.
PROGRAMS: dict[str, Sequence[str]] = {COMMAND_LINE: ("-P", "-m", "kernelwright"), SERVER: ("-m", "kernelwright.lsp")}
_KINDS = {str(kind) for kind in FailureKind}
_PATIENCE = 300.0  # seconds; the command line itself gives a trial less


def chosen(word: str = "") -> list[Case]:
    """The cases that either surface can be asked for, by name: what only a strategy promises is none of theirs."""
    found = [*cases("controls"), *cases("exploits")]
    return [one for one in found if word in one.name and not one.marks & {"gpu", "promises-kernel"}]


def through_command_line(case: Case, folder: Path) -> frozenset[str]:
    """How `kernelwright measure FILE --against BASELINE --json OUT` ends, as `ended_by` names it.

    Where there is no verdict "declined", since the command line tells the kind of a failure in words only.
    """
    candidate, baseline, out = folder / "kernel.py", folder / "baseline.py", folder / "result.json"
    _lay_out(case, folder)
    candidate.write_text(file_of(case, case.candidate), encoding="utf-8")
    baseline.write_text(file_of(case, case.baseline), encoding="utf-8")
    command = [sys.executable, *PROGRAMS[COMMAND_LINE], "measure", candidate, "--against", baseline, "--json", out]
    try:
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        return frozenset({"no answer"})
    if out.exists():
        return ended_by(wire.decode(TrialResult, json.loads(out.read_text(encoding="utf-8"))["result"]))
    said = ended.stderr.strip().splitlines()
    return frozenset({"declined", said[-1] if said else f"exit status {ended.returncode}"})


async def through_server(window: Window, case: Case) -> frozenset[str] | None:
    """How `kernelwright.measure` ends after the baseline was opened, made the baseline, and replaced by the candidate.

    None where the candidate's kernel has another name than the baseline's: an editor keeps baselines by that.
    """
    before, after = (file_of(case, text) for text in (case.baseline, case.candidate))
    name, again = (find_kernel(Path("kernel.py"), text, None, whole=True).name for text in (before, after))
    if name != again:
        return None
    _lay_out(case, window.workspace / case.name)
    uri = window.open(f"{case.name}/kernel.py", before)
    about = {"uri": uri, "kernel": name, "quiet": True}
    await window.command("kernelwright.resetBaseline", about)
    window.type(uri, before, after)
    value = wire.decode(TrialResult | Failure | Refusal, await window.command("kernelwright.measure", about))
    return frozenset({"declined", value.reason}) if isinstance(value, Refusal) else ended_by(value)


def agrees(case: Case, ends: frozenset[str]) -> bool:
    """Whether that is what the case expects."""
    return as_expected(case, ends) or ("declined" in ends and bool(case.expected & _KINDS))


def _lay_out(case: Case, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in case.neighbours.items():
        (folder / name).write_text(text, encoding="utf-8")


async def compared(wanted: Sequence[Case], surfaces: Sequence[str], tell: Callable[[str], None], jobs: int = 1) -> int:
    """Asks about each, the command line `jobs` at a time, tells each in a line, and returns how many ended otherwise."""
    wrong = 0

    def count(surface: str, case: Case, ends: frozenset[str] | None) -> None:
        nonlocal wrong
        fine = ends is None or agrees(case, ends)
        wrong += not fine
        said = "not askable" if ends is None else ", ".join(sorted(ends))
        tell(f"{'as expected' if fine else 'OTHERWISE'}  {surface:12}  {case.name}: {said}")

    with tempfile.TemporaryDirectory(prefix="kernelwright-surfaces-") as scratch:
        if COMMAND_LINE in surfaces:
            with ThreadPoolExecutor(jobs) as pool:
                folders = [Path(scratch) / "command-line" / case.name for case in wanted]
                for case, ends in zip(wanted, pool.map(through_command_line, wanted, folders), strict=True):
                    count(COMMAND_LINE, case, ends)
        if SERVER in surfaces:
            window = await opened(Path(scratch), {"verifyTimeout": 90}, program=PROGRAMS[SERVER])
            try:
                for case in wanted:
                    count(SERVER, case, await through_server(window, case))
            finally:
                await window.stop()
    return wrong


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="those whose name has this in it")
    parser.add_argument("--first", default="", help="those whose name is this or comes after it in the alphabet")
    parser.add_argument("--surface", choices=(COMMAND_LINE, SERVER), help="one of the two")
    parser.add_argument(
        "--jobs", type=int, default=1, help="of the command line at a time; they disturb each other's clock"
    )
    asked = parser.parse_args(arguments)
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")  # they are written for the CPU
    surfaces = (asked.surface,) if asked.surface else (COMMAND_LINE, SERVER)
    wanted = [case for case in chosen(asked.only) if case.name >= asked.first]
    wrong = asyncio.run(compared(wanted, surfaces, partial(print, flush=True), asked.jobs))
    print(f"{wrong} ended otherwise than their case expects.")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
