"""The two ways to look into a call: torch's profiler, which times, and a count of launches and operators."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.proof.worker.clock.timing import clock_for
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.kernels.launches import Launches
from kernelwright.proof.worker.observe import synchronize
from kernelwright.proof.worker.profiling.tally import Activity, gpu_activities
from kernelwright.values import Failure, FailureKind

_NO_WORK = ("aten::empty", "aten::new_empty", "aten::_unsafe_view", "aten::_reshape_alias", "aten::lift_fresh")


def timed(
    prepare: Callable[[], Callable[[], None]], count: int, device: str, report: Callable[[str], None]
) -> list[list[Activity]]:
    """What each of `count` calls ran: kernels, copies and fills of the GPU, or operators of the CPU.

    Each call has a session of the profiler of its own, so that what prepares it, and on a GPU the flush of the L2 cache,
    is not in it. Raises JobFailed where the profiler does not see the GPU, and what the call raises.
    """
    clock = clock_for(device)
    if clock.cuda:
        _check_sight()
    calls: list[list[Activity]] = []
    for number in range(count):
        report(f"Profiling, round {number + 1} of {count}")
        call = prepare()
        if clock.flush is not None:
            clock.flush.zero_()
        calls.append(_seen(call, cuda=clock.cuda))
    return calls


def counted(prepare: Callable[[], Callable[[], None]], launches: Launches) -> list[Activity]:
    """One call's launches of Triton kernels and the operators of torch outside them, without times."""
    call, operators = prepare(), _Operators(launches)
    launches.clear()
    with operators:
        call()
    seen = launches.own + launches.foreign
    return [Activity(name, None, count) for name, count in [*seen.items(), *operators.counts.items()]]


def _seen(call: Callable[[], Any], *, cuda: bool) -> list[Activity]:
    """The activities of one call. The events of a GPU are read from the exported trace, whose format is stable."""
    kinds = [ProfilerActivity.CPU, ProfilerActivity.CUDA] if cuda else [ProfilerActivity.CPU]
    synchronize()
    with profile(activities=kinds) as session:
        call()
        synchronize()
    if not cuda:
        return [
            Activity(event.key, float(event.self_cpu_time_total), event.count)
            for event in session.key_averages()
            if not event.is_user_annotation
        ]
    with tempfile.TemporaryDirectory(prefix="kernelwright-") as folder:
        file = Path(folder) / "trace.json"
        session.export_chrome_trace(str(file))
        return gpu_activities(json.loads(file.read_text(encoding="utf-8", errors="replace"), strict=False))


def _check_sight() -> None:
    """A first session, which costs the most, must see a kernel that surely ran. Raises JobFailed."""
    ones = torch.ones(1 << 10, device="cuda")
    if any("elementwise" in activity.name for activity in _seen(lambda: ones.add_(1.0), cuda=True)):
        return
    message = (
        "torch.profiler sees no kernels on this GPU: end other profilers (nsys, ncu), or install a torch whose "
        "kineto has CUPTI."
    )
    raise JobFailed(Failure(FailureKind.NOT_PROFILED, message))


class _Operators(TorchDispatchMode):
    """Counts operators that compute something, other than those inside an interpreted launch."""

    def __init__(self, launches: Launches) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}
        self._launches = launches

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # Operators of higher order, such as flex attention, have neither a schema nor views.
        schema = getattr(func, "_schema", None)
        name = schema.name if schema is not None else str(func)
        works = not getattr(func, "is_view", False) and not name.startswith(_NO_WORK)
        if works and not self._launches.running:
            self.counts[name] = self.counts.get(name, 0) + 1
        return func(*args, **(kwargs or {}))
