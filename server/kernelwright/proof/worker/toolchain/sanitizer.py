"""NVIDIA's compute-sanitizer: where it is, how a program is run under it, and what it says of the kernels that ran.

Standard library alone.
"""

import glob
import json
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.proof.worker.sandbox import fence

MISSING = "compute-sanitizer is not here: install NVIDIA's CUDA toolkit, or `pip install nvidia-cuda-sanitizer-api`"
_NAME = "compute-sanitizer"
_LONGEST = 300  # characters of a sentence
_OPTIONS = (
    *("--demangle", "simple", "--show-backtrace", "no", "--print-limit", "8"),
    *("--target-processes", "application-only"),  # not the compilers that Triton starts
)


@dataclass(frozen=True)
class Tool:
    """One of its tools, and the check of that name.

    `faults`: how what it says of a fault begins. `passed`: what it has not seen where it says nothing. `needs`: what a text
    has that it finds anything in; Triton's compiler, and not a text, says which memory the threads of a block share.
    """

    name: str
    faults: str
    passed: str
    options: tuple[str, ...] = ()
    needs: str = ""


TOOLS = (
    Tool(
        "memcheck",
        r"Invalid __|Malloc/Free error|(Device|Cluster|Warp|Lane) \w+ address|Warp assert|.*stack overflow",
        "no access out of bounds or misaligned, each tensor with memory of its own",
        ("--padding", "4096", "--report-api-errors", "no"),
    ),
    Tool(
        "racecheck",
        r"Error: (Race|Potential)|Potential invalid",
        "no race between threads of a block in shared memory",
        needs="__shared__",
    ),
    Tool("initcheck", r"Uninitialized ", "no read of global memory that nothing has written"),
)


@dataclass(frozen=True)
class Report:
    """What a tool says. `fault`: the first one, as a sentence. `clean`: that it counted none. `words`: why it gave up."""

    fault: str = ""
    clean: bool = False
    words: str = ""


def found() -> str | None:
    """The program: by PATH, CUDA_HOME or CUDA_PATH, in a wheel, or where NVIDIA's toolkit is installed by default."""
    return next((program for place in _places() if (program := shutil.which(_NAME, path=place))), None)


def _places() -> Iterator[str | None]:
    yield None
    yield from (os.path.join(home, "bin") for name in ("CUDA_HOME", "CUDA_PATH") if (home := os.environ.get(name)))
    for place in sys.path:
        for folder in ("bin", _NAME):
            yield from sorted(glob.glob(os.path.join(glob.escape(place), "nvidia", "*", folder)), reverse=True)
    yield from ("/usr/local/cuda/bin", *sorted(glob.glob("/usr/local/cuda-*/bin"), reverse=True))


def command(program: str, tool: Tool, log: Path, target: Sequence[str]) -> list[str]:
    """What runs the command `target` under a tool, which writes to the file `log`."""
    written = str(log).replace("%", "%%")
    return [program, "--tool", tool.name, *tool.options, *_OPTIONS, "--log-file", written, *target]


def launch(asked: str) -> None:
    """Become a confined process of the `command` in `asked`, JSON with the other arguments of `fence.confine`.

    The tool as well as what it starts is confined: it asks for pipes in the scratch folder and a socket without a path.
    """
    given = json.loads(asked)
    command, scratch = given.pop("command"), given.pop("scratch")
    fence.confine(scratch, ipc=True, **given)
    os.execv(command[0], command)


def read(tool: Tool, log: str, own: Collection[str] = ()) -> Report:
    """Read what a tool has written. Lines in files of the names `own` are told as lines of the text."""
    records = list(_records(log))
    faults = [one for one in records if re.match(tool.faults, one[0])]
    counts = [int(count[1]) for one in records if (count := _COUNT.search(one[0]))]
    if faults:
        more = f" ({counts[-1]} in all)" if counts and counts[-1] > 1 else ""
        return Report(_sentence(faults[0], own)[:_LONGEST] + more)
    words = [one[0].removeprefix("Error: ").rstrip(".") for one in records if not _MATTER_OF_COURSE.match(one[0])]
    return Report(clean=bool(counts) and not any(counts), words="; ".join(dict.fromkeys(words))[:_LONGEST])


_COUNT = re.compile(r"(?:ERROR SUMMARY: |RACECHECK SUMMARY: [^(]*\()(\d+) errors?\b(?! were not printed)")
_MATTER_OF_COURSE = re.compile(r"COMPUTE-SANITIZER|\w+ SUMMARY|Tracking kernels|Warning|WARNING")
_PLACES = (
    re.compile(r"\bat (?P<kernel>\S.*?)(?:\(.*\))?[+:]0x[\da-f]+(?: in (?P<file>\S+?):(?P<line>\d+))?"),
    re.compile(r"\bat 0x[\da-f]+ in (?:(?P<file>[^\s:(]+):(?P<line>\d+):)?(?P<kernel>[^\s(]+)"),  # before CUDA 12.4
)
_THREAD = re.compile(r"by thread (\([\d,]+\)) in block (\([\d,]+\))")
_ACCESS = re.compile(r"(Read|Write|Atomic)\w* access (?=at )")
_ADDRESS = re.compile(r"(?:(?:Address|Access to|Access at) 0x[\da-f]+|and) is (.+)")


def _records(log: str) -> Iterator[list[str]]:
    """What the tool says, each time a line and those that belong to it; what the program has printed is left out."""
    record: list[str] = []
    for line in log.splitlines():
        words = line.removeprefix("=========")
        if words == line or not words.strip():
            continue
        if not words.startswith("  ") and record:
            yield record
            record = []
        record.append(words.strip())
    if record:
        yield record


def _sentence(record: Sequence[str], own: Collection[str]) -> str:
    lines = [words for words in record if _ACCESS.search(words)]
    if lines:
        accesses = dict.fromkeys(f"a {_ACCESS.findall(words)[0].lower()}{_place(words, own)}" for words in lines)
        return f"race between {' and '.join(accesses)}" + (" by several threads" if len(accesses) == 1 else "")
    what = record[0].rstrip(" .:")
    told = what + next((words for line in record[1:] if (words := _place(line, own))), "")
    thread = next((found for line in record if (found := _THREAD.search(line))), None)
    told += f", by thread {thread[1]} of block {thread[2]}" if thread else ""
    address = [re.sub(r" at 0x[\da-f]+", "", found[1]) for line in record[1:] if (found := _ADDRESS.match(line))]
    return told + (f": {', '.join(address)}" if address else "")


def _place(words: str, own: Collection[str]) -> str:
    """ " in KERNEL at line N", as far as the line tells."""
    found = next((match for pattern in _PLACES if (match := pattern.search(words))), None)
    if found is None:
        return ""
    name = os.path.basename(found["file"] or "")
    at = f" at line {found['line']}" + (f" of {name}" if name not in own else "") if name else ""
    return f" in {found['kernel']}{at}"
