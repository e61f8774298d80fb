"""Looks into one call: torch's profiler where it can time kernels or operators, else launches and operators counted.

Runs after all timing, in the process that the text runs in: what is reported here is the word of that process.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.autograd.profiler import profile  # torch.profiler's own imports all of inductor, which takes seconds

from kernelwright.proof.worker import subject
from kernelwright.proof.worker.inputs import Inputs, seed_everything, without_gradients
from kernelwright.proof.worker.languages import WorkerLanguage
from kernelwright.proof.worker.observe import synchronize
from kernelwright.proof.worker.profiling.counting import CountedOperators, counted_launches
from kernelwright.proof.worker.profiling.names import origin_of
from kernelwright.proof.worker.profiling.work import Part, Work, parts_of_trace
from kernelwright.values import ProfiledOn, files_of

BLIND = "torch.profiler sees no kernels on this GPU"
_INTERPRETED = "not measured: no GPU runs it"

Call = Callable[[], Any]


def look(
    call: Call,
    module: ModuleType,
    path: str,
    text: str,
    language: WorkerLanguage,
    *,
    device: str,
    interpreted: bool,
    by_operator: bool = True,
) -> Work:
    """The work of `call`, which is made once, or twice where the first look was blind. Raises what the call raises.

    `module` is what `text`, said to live at `path`, was loaded as; its kernels and those of its folder are hand-written.
    `by_operator`: see parts_of_trace.
    """
    folders = {Path(one).resolve().parent for one in files_of(path, text)}
    is_own = lambda file: subject.is_of(module, file) or any(subject.lies_in(folder, file) for folder in folders)
    if interpreted:
        return _counted(call, is_own, ProfiledOn.INTERPRETER, _INTERPRETED)
    cuda = device == "cuda"
    with counted_launches(is_own) as seen:
        session = _profiled(call, cuda=cuda)
    known = language.known(path, text)
    origin = lambda name: origin_of(name, known, seen.launched)
    if cuda:
        traced = parts_of_trace(_trace(session), origin, by_operator=by_operator)
        if traced is None:  # another profiler is attached, or torch has no CUPTI
            return _counted(call, is_own, ProfiledOn.GPU, BLIND)
        parts, by_operator = traced
        return Work(ProfiledOn.GPU, parts, seen.raised, by_operator=by_operator)
    events = (event for event in session.key_averages() if not event.is_user_annotation)
    parts = tuple(Part(e.key, origin(e.key), e.count, float(e.self_cpu_time_total)) for e in events)
    return Work(ProfiledOn.CPU, parts, seen.raised, _INTERPRETED if seen.interpreted else "")


def prepared(target: Callable[..., Any], inputs: Inputs, seed: int) -> Call:
    """A call of `target` without gradients, on copies of `inputs`, whose random numbers are those of `seed`."""
    given = inputs.copied()
    seed_everything(seed)
    return without_gradients(target, given)


def _profiled(call: Call, *, cuda: bool) -> profile:
    """The session of one call; on a GPU the sentinel runs before it."""
    sentinel = torch.zeros(1 << 10, dtype=torch.int32, device="cuda") if cuda else None
    synchronize()
    with profile(use_device="cuda" if cuda else None, use_kineto=True) as session:
        if sentinel is not None:
            sentinel.bitwise_not_()
            synchronize()
        call()
        synchronize()
    return session


def _trace(session: profile) -> Any:
    """The session's trace in Chrome's format, which is stable."""
    with tempfile.TemporaryDirectory(prefix="kernelwright-") as scratch:
        file = Path(scratch) / "trace.json"
        session.export_chrome_trace(str(file))
        return json.loads(file.read_text(encoding="utf-8", errors="replace"), strict=False)


def _counted(call: Call, is_own: Callable[[str], bool], on: ProfiledOn, untimed: str) -> Work:
    with counted_launches(is_own) as seen, CountedOperators(seen):
        call()
    return Work(on, seen.parts, seen.raised, untimed)
