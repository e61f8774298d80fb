"""The side of the roofline in words, from what is known of a kernel without running it, and its share of the roof."""

from typing import TYPE_CHECKING

from kernelwright import words
from kernelwright.settings import Settings
from kernelwright.values import Device, Measurement

if TYPE_CHECKING:
    from kernelwright.macro.strategy import Observation
    from kernelwright.source.roofline import Work


def sentence(observation: "Observation", settings: Settings, measured: Measurement | None) -> str:
    """For the hover; empty when the work is not known. `measured` is a number that may be said, for the text as it is."""
    from kernelwright.source.roofline import bound

    found = _work(observation)
    if found is None:
        return ""
    device, here = _device(observation, settings)
    side = bound(found, device)
    target = "the target named in the settings" if settings.target else "the GPU assumed where there is none"
    where = device.name if here else f"{device.name}, {target}"
    said = f"Bound by {side.kind} on {where}: {side.intensity:.3g} FLOP per byte (ridge {side.ridge:.3g})"
    if least := words.least_time(side.floor_ms, device, measured.device if measured else None):
        said += f", {least}"
    share = _share(measured) if measured is not None and measured.device == device.name else ""
    return f"{said}; it reaches {share} of the roof" if share else said


def short(observation: "Observation", settings: Settings, measured: Measurement | None) -> str:
    """For the lens: "memory-bound, 31 % of roof"; the side on one device is not told beside a time of another."""
    from kernelwright.source.roofline import bound

    found = _work(observation)
    device = _device(observation, settings)[0]
    if found is None or (measured is not None and measured.device != device.name):
        return ""
    side = f"{bound(found, device).kind}-bound"
    share = _share(measured)
    return f"{side}, {share} of roof" if share else side


def _work(observation: "Observation") -> "Work | None":
    from kernelwright.source.roofline import known_work

    return known_work(observation.kernel, observation.workload, observation.graph)


def _device(observation: "Observation", settings: Settings) -> tuple[Device, bool]:
    """The device of now where its ceilings are known, otherwise the one that facts are compiled for."""
    from kernelwright.observer import named_target

    if observation.device.bandwidth:
        return observation.device, True
    return named_target(settings), False


def _share(measured: Measurement | None) -> str:
    """Least time over measured time, both of the measurement: they are of the same device.

    A step that saves operations can be faster than the roof over its baseline: then there is no share to tell.
    """
    if measured is None or not measured.candidate.median_ms:
        return ""
    least = measured.roof.least_ms if measured.roof is not None else measured.floor_ms
    share = (least or 0.0) / measured.candidate.median_ms
    return words.percent(share) if 0.0 < share <= 1.0 else ""
