"""Calls of a text in a fresh process under NVIDIA's compute-sanitizer, confined as every host is: both sides of it.

The process is asked by a file, and says in another one how far it came. Every tensor has memory of its own, since the tool
knows allocations, and not which tensor of them a kernel was given.
"""

import json
import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from kernelwright.proof.worker import processes, tuning
from kernelwright.proof.worker.inputs import Inputs, map_tensors, seed_everything
from kernelwright.proof.worker.languages import language_of
from kernelwright.proof.worker.raised import describe, scratch_folder
from kernelwright.proof.worker.reference.pair import Mismatch, take_parameters
from kernelwright.proof.worker.subject import make_target
from kernelwright.proof.worker.toolchain import errors, sanitizer
from kernelwright.proof.worker.toolchain.sanitizer import Tool
from kernelwright.values import Workload

_BOOTSTRAP = Path(__file__).parents[1] / "bootstrap.py"
_ENVIRONMENT = {
    "PYTORCH_NO_CUDA_MEMORY_CACHING": "1",
    "NV_COMPUTE_SANITIZER_LOCAL_CONNECTION_OVERRIDE": "uds",  # the network is closed
}
_LAST = 160  # characters of what the process printed last
_MOST = 1 << 20  # bytes of a file that are read


@dataclass(frozen=True)
class Call:
    """One call, tensors on the CPU. `unwritten`: of the inputs, those that are for results.

    The target is made of what comes from `init` on.
    """

    described: str
    inputs: Inputs
    unwritten: Collection[int]
    seed: int
    init: Inputs
    init_seed: int
    is_module: bool
    training: bool
    state: Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class Asked:
    """What is called. `path` is the file of the text."""

    path: str
    text: str
    language: str
    device: str
    workload: Workload
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Outcome:
    """What a tool has found. `fault`: the first one, as a sentence; `case`: the calls that were made until then.

    `why`: why it cannot be said that there is none, "" where it can. `begun`: how many calls were.
    """

    fault: str = ""
    case: str = ""
    why: str = ""
    begun: int = 0


def run(program: str, tool: Tool, asked: Asked, folder: Path, *, seconds: float) -> Outcome:
    """The calls under the tool of `program`, within so many seconds, in a new `folder`.

    The text may write in it: what it leaves there, such as a link to a file of the user's, is never written to again.
    """
    folder.mkdir()
    request, answer, log, prints = (folder / f"{tool.name}.{name}" for name in ("request", "answer", "log", "prints"))
    torch.save(asked, request)
    target = [sys.executable, "-s", str(_BOOTSTRAP), "0", "call", str(request), str(answer)]
    confined = {
        "command": sanitizer.command(program, tool, log, target),
        "scratch": str(folder),
        "beside": str(Path(asked.path).resolve().parent),
        "hidden": [str(scratch_folder())],
        "protected": [os.getpid(), os.getppid()],
    }
    command = [sys.executable, "-s", str(_BOOTSTRAP), "0", "launch", json.dumps(confined)]
    late = not _ended(command, prints, seconds)
    said = _read(answer)
    begun = _whole(said)
    labels = [one.described for one in asked.calls[:begun]]
    report = sanitizer.read(tool, _text(log), (errors.SOURCE, Path(asked.path).name))
    raised = str(said.get("raised", ""))
    case = labels[-1] if labels and raised else "; ".join(labels)
    if report.fault:
        return Outcome(report.fault, case, begun=begun)
    if late:
        return Outcome(why=f"it took more than {seconds:.3g} s", begun=begun)
    if report.clean and said.get("ended") is True:
        return Outcome(case=case, begun=begun)
    last = next((line.strip()[:_LAST] for line in reversed(_text(prints, end=True).splitlines()) if line.strip()), "")
    said_last = f", and printed last: {last}" if last else ""
    why = raised or report.words or "it does not say what it found"
    return Outcome(why=f"{why}{said_last}", begun=begun)


def call(request: str, answer: str) -> None:
    """Make the calls that the file `request` asks for, in this process. Nothing is said of what they return."""
    asked: Asked = torch.load(request, weights_only=False)  # the judge has written it
    said: dict[str, Any] = {}

    def tell(**more: Any) -> None:
        said.update(more)
        Path(answer).write_text(json.dumps(said), encoding="utf-8")

    try:
        module = language_of(asked.language).load(asked.path, asked.text, "candidate")
        if asked.device == "cuda":
            tuning.choose_once()
        for begun, one in enumerate(asked.calls, 1):
            tell(begun=begun)
            _make(asked, module, one)
    except BaseException as error:
        tell(raised=describe(error))
        raise
    tell(ended=True)


def _make(asked: Asked, module: Any, one: Call) -> None:
    here = lambda tensor: laid_out(tensor, asked.device)
    target = make_target(module, asked.workload, one.init.changed(here), device=asked.device, seed=one.init_seed)
    with torch.no_grad():
        given = take_parameters(target, one.is_module, one.training, map_tensors(here, dict(one.state)))
        if isinstance(given, Mismatch):
            raise TypeError(given.detail)
        numbered = iter(range(len(one.inputs.tensors())))
        inputs = one.inputs.changed(
            lambda tensor: laid_out(tensor, asked.device, written=next(numbered) not in one.unwritten)
        )
        seed_everything(one.seed)
        inputs.passed_to(target)
        if asked.device == "cuda":
            torch.cuda.synchronize()


def laid_out(tensor: torch.Tensor, device: str, *, written: bool = True) -> torch.Tensor:
    """A copy with the same strides and memory of its own, which is left as it was allocated unless `written`."""
    source = tensor.detach()
    if source.layout is not torch.strided or any(
        s == 0 and n > 1 for n, s in zip(source.shape, source.stride(), strict=True)
    ):
        return source.to(device, copy=True).requires_grad_(tensor.requires_grad)
    made = torch.empty_strided(source.shape, source.stride(), dtype=source.dtype, device=device)
    return (made.copy_(source) if written else made).requires_grad_(tensor.requires_grad)


def _ended(command: list[str], prints: Path, seconds: float) -> bool:
    """Run the command; False where it was killed, with all that it has started in its group."""
    with prints.open("wb") as out:
        started = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **_ENVIRONMENT},
            process_group=0,
        )
        try:
            started.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        finally:
            if started.poll() is None:
                processes.kill_group(started.pid)
                started.wait()
    return True


def _read(answer: Path) -> dict[str, Any]:
    """What the process says of itself, which the text could have written as well."""
    try:
        said = json.loads(_text(answer))
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _whole(said: Mapping[str, Any]) -> int:
    begun = said.get("begun")
    return begun if type(begun) is int and begun > 0 else 0


def _text(file: Path, *, end: bool = False) -> str:
    """What a file begins with, or its end."""
    try:
        # The text may have put a link or a pipe in its place.
        with open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
            opened.seek(max(os.fstat(opened.fileno()).st_size - _MOST, 0) if end else 0)
            return opened.read(_MOST).decode("utf-8", "replace")
    except OSError:
        return ""
