"""Strategies that make one kernel of a region by way of a Nest: each is a kind of region, and words."""

import functools
from collections.abc import Callable

from kernelwright.macro.intent import Around, Fuse, Intent
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.rewrite.candidates import within
from kernelwright.micro.rewrite.nested_actions import action_for, joined
from kernelwright.micro.rewrite.nested_places import NestRegion
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Action, Language, Refusal

Regions = Callable[[SourceMap], list[NestRegion] | Refusal]


def fusion(
    kind: str,
    regions_of: Regions,
    *,
    reason: str,
    why: str,
    doc: str,
    instruction: str,
    example: Example,
    family: Family = Family.FUSION,
) -> Strategy:
    """Return the strategy "torch.fuse-<kind>" for the regions that `regions_of` finds.

    `reason`: what eager mode does worse, which a reader of the menu is told.
    """
    id = f"torch.fuse-{kind}"
    return Strategy(
        id=id,
        title=f"Fuse {kind}",
        family=family,
        languages=frozenset({Language.TORCH}),
        why=why,
        doc=doc,
        instruction=instruction,
        example=example,
        find=functools.partial(_find, id, regions_of, f"The {kind} stands outside this kernel.", reason),
        intent=_intent,
        needs_graph=True,
        needs_gpu=True,
        promises_kernel=True,
    )


def _intent(observation: Observation, action: Action) -> Intent | Refusal:
    return Fuse(Around.NEST)


def _find(
    strategy: str, regions_of: Regions, outside: str, reason: str, observation: Observation
) -> tuple[Action, ...] | Refusal:
    """An Action for each kernel that regions can become; `outside` is the refusal where they lie outside the user's kernel."""
    source = observation.source
    if isinstance(source, Refusal):
        return source
    regions = regions_of(source)
    if isinstance(regions, Refusal):
        return regions
    kernel = observation.kernel
    inside = within(regions, source, kernel.start_line, kernel.end_line)
    device = observation.device
    actions = tuple(action_for(strategy, source, one, device, reason) for one in joined(inside, device))
    return actions or Refusal(outside)
