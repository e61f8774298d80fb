"""From what a profiler saw to a table: one row for each name, a mean over the calls. Pure; neither torch nor Triton."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.values import Origin, ProfiledKernel
from kernelwright.values.profile import share

_ON_THE_GPU = ("kernel", "gpu_memcpy", "gpu_memset")  # not gpu_user_annotation, whose time is that of kernels inside it


@dataclass(frozen=True)
class Activity:
    """`count` runs of one kernel or operator, with their time together; None where it was not measured."""

    name: str
    time_us: float | None = None
    count: int = 1


def gpu_activities(trace: Mapping[str, Any]) -> list[Activity]:
    """What ran on the GPU in a trace in Chrome's format, as torch.profiler exports it; durations are in microseconds."""
    return [
        Activity(str(event["name"]), float(event.get("dur", 0.0)))
        for event in trace.get("traceEvents", ())
        if event.get("ph") == "X" and event.get("cat") in _ON_THE_GPU
    ]


def tally(calls: Sequence[Iterable[Activity]], origin_of: Callable[[str], Origin]) -> tuple[ProfiledKernel, ...]:
    """The kernels of a call, those with the most time first, then those with the most launches."""
    times: dict[str, float | None] = {}
    counts: dict[str, int] = {}
    for activity in (activity for call in calls for activity in call):
        name, before = activity.name, times.get(activity.name)
        counts[name] = counts.get(name, 0) + activity.count
        times[name] = before if activity.time_us is None else (before or 0.0) + activity.time_us
    whole = None if None in times.values() else sum(time or 0.0 for time in times.values())
    kernels = [
        ProfiledKernel(
            name=name,
            origin=origin_of(name),
            launches=counts[name] / len(calls),
            time_us=None if time is None else time / len(calls),
            share=share((time,), whole),
        )
        for name, time in times.items()
    ]
    return tuple(sorted(kernels, key=lambda kernel: (-(kernel.time_us or 0.0), -kernel.launches, kernel.name)))
