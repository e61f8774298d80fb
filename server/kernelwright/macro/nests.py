"""What strategies that make a kernel by way of a Nest have in common: where they apply."""

from collections.abc import Callable

from kernelwright.macro.strategy import Observation
from kernelwright.micro.rewrite.candidates import observed, within
from kernelwright.micro.rewrite.nested import NestRegion, action_for
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Action, Refusal

Regions = Callable[[SourceMap], list[NestRegion] | Refusal]


def found(
    strategy: str, observation: Observation, regions_of: Regions, outside: str, reason: str
) -> tuple[Action, ...] | Refusal:
    """An Action of `strategy` for each region inside the kernel; `outside` is the refusal where all lie outside."""
    source = observed(observation.text, observation.graph)
    if isinstance(source, Refusal):
        return source
    regions = regions_of(source)
    if isinstance(regions, Refusal):
        return regions
    kernel = observation.kernel
    inside = within(regions, source, kernel.start_line, kernel.end_line)
    actions = tuple(action_for(strategy, source, region, observation.device, reason) for region in inside)
    return actions or Refusal(outside)
