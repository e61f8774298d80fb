"""Which Actions a fusion of PyTorch operations offers: the same for every kind of region."""

from collections.abc import Callable, Sequence

from kernelwright.macro.strategy import Observation
from kernelwright.micro.rewrite.candidates import Fusible, action_of, within
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Action, Refusal

Regions = Callable[[SourceMap], Sequence[Fusible] | Refusal]


def fusions(strategy: str, observation: Observation, regions_of: Regions, outside: str) -> tuple[Action, ...] | Refusal:
    """An Action of `strategy` for each region inside the kernel; `outside` is the refusal's reason when all lie outside."""
    source = observation.source
    if isinstance(source, Refusal):
        return source
    regions = regions_of(source)
    if isinstance(regions, Refusal):
        return regions
    inside = within(regions, source, observation.kernel.start_line, observation.kernel.end_line)
    if not inside:
        return Refusal(outside)
    return tuple(action_of(strategy, source, region, observation.device) for region in inside)
