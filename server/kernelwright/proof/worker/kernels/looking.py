"""Looks into one call: torch's profiler where it can time kernels or operators, else launches and operators counted.

Runs after all timing, in the process that the text runs in: what is reported here is the word of that process.
"""

import dataclasses
import functools
import json
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.autograd.profiler import profile  # torch.profiler's own imports all of inductor, which takes seconds

from kernelwright.proof.worker import subject
from kernelwright.proof.worker.dispatch import DispatchMode
from kernelwright.proof.worker.inputs import tensors_in
from kernelwright.proof.worker.kernels.launches import Launches, observed_launches
from kernelwright.proof.worker.kernels.names import Known, defined_in, origin_of
from kernelwright.proof.worker.kernels.work import Part, Work, parts_of_trace
from kernelwright.proof.worker.observe import synchronize
from kernelwright.proof.worker.profiling.profile import texts_of
from kernelwright.values import Origin, ProfiledOn

_BLIND = "torch.profiler sees no kernels on this GPU"
_INTERPRETED = "not measured: Triton's interpreter"

Call = Callable[[], Any]


def look(call: Call, module: ModuleType, path: str, text: str, *, device: str, interpreted: bool) -> Work:
    """The work of `call`, which is made once, or twice where the first look was blind. Raises what the call raises.

    `module` is what `text`, said to live at `path`, was loaded as; its kernels and those of its folder are hand-written.
    """
    folder = Path(path).resolve().parent
    is_own = lambda file: file == module.__file__ or subject.lies_in(folder, file)
    with observed_launches(is_own) as launches:
        if interpreted:
            return _counted(call, launches, ProfiledOn.INTERPRETER, _INTERPRETED)
        known = functools.cache(lambda: _known(path, text, launches))  # asked for once the call has been made
        origin = lambda name: origin_of(name, known())
        if device == "cuda":
            parts = _on_the_gpu(call, origin)
            if parts is None:
                launches.clear()
                return _counted(call, launches, ProfiledOn.GPU, _BLIND)
            return Work(ProfiledOn.GPU, True, parts, _raised(launches))
        parts = _on_the_cpu(call, origin)
        untimed = _INTERPRETED if launches.interpreted else ""
        return Work(ProfiledOn.CPU, not untimed, parts, _raised(launches), untimed)


def _on_the_gpu(call: Call, origin: Callable[[str], Origin]) -> tuple[Part, ...] | None:
    """By device time. None where the profiler does not see the GPU: another one is attached, or it has no CUPTI."""
    sentinel = torch.zeros(1 << 10, dtype=torch.int32, device="cuda")
    synchronize()
    with profile(use_device="cuda", use_kineto=True) as session:
        sentinel.bitwise_not_()
        synchronize()
        call()
        synchronize()
    with tempfile.TemporaryDirectory(prefix="kernelwright-") as scratch:
        file = Path(scratch) / "trace.json"
        session.export_chrome_trace(str(file))
        return parts_of_trace(json.loads(file.read_text(encoding="utf-8", errors="replace"), strict=False), origin)


def _on_the_cpu(call: Call, origin: Callable[[str], Origin]) -> tuple[Part, ...]:
    """By each operator's own CPU time."""
    with profile(use_kineto=True) as session:
        call()
    return tuple(
        Part(event.key, origin(event.key), event.count, float(event.self_cpu_time_total))
        for event in session.key_averages()
        if not event.is_user_annotation
    )


def _counted(call: Call, launches: Launches, on: ProfiledOn, untimed: str) -> Work:
    operators = _Operators(launches)
    with operators:
        call()
    parts = [
        Part(name, origin, count, float(launches.elements[name]))
        for origin, seen in ((Origin.HAND_WRITTEN, launches.own), (Origin.LIBRARY, launches.foreign))
        for name, count in seen.items()
        if count
    ]
    parts += [
        Part(name, Origin.LIBRARY, count, float(operators.elements[name])) for name, count in operators.counts.items()
    ]
    return Work(on, False, tuple(parts), _raised(launches), untimed)


def _known(path: str, text: str, launches: Launches) -> Known:
    launched = frozenset(launches.own) | launches.aliases
    return dataclasses.replace(defined_in(texts_of(path, text)), launched=launched, foreign=frozenset(launches.foreign))


def _raised(launches: Launches) -> tuple[str, ...]:
    return tuple(f"{name} raises {error}" for name, error in launches.raised.items())


class _Operators(DispatchMode):
    """Counts operators outside of interpreted launches, with the elements of the tensors that they take and give."""

    def __init__(self, launches: Launches) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.elements: Counter[str] = Counter()
        self._launches = launches

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if not self._launches.running and not getattr(func, "is_view", False):
            # Operators of higher order, such as flex attention, have no schema.
            schema = getattr(func, "_schema", None)
            name = schema.name if schema is not None else str(func)
            self.counts[name] += 1
            self.elements[name] += sum(tensor.numel() for tensor in tensors_in((args, kwargs, made)))
        return made
