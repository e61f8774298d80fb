"""Modules whose reductions become kernels by way of a Nest, also those that an older form would take; compared in a process."""

from kernelwright.coders.fusing import nest_edits
from kernelwright.micro.rewrite.nested import NestRegion, nest_region
from kernelwright.nest import Nest
from kernelwright.place.source_map import SourceMap
from kernelwright.schedule.sizes import sizes
from kernelwright.schedule.spaces import space
from kernelwright.values import CPU, apply
from kernelwright.values.opts import Loop, Opt, Rows, Split, Warps
from macro.torch_modules import observed
from micro.rewrite.test_fused_numerics import problems

Choices = tuple[tuple[Opt, ...], ...]


def small(nest: Nest) -> Choices:
    """Tiles that take these short rows in several steps, whole and in parts, one and several beside each other."""
    found = sizes(nest)
    if found.strip:
        return (Rows(16), Loop(8), Warps(4)), (Rows(16), Loop(4), Warps(4), Split(2))
    if found.nested:
        return (Loop(8), Warps(4), Split(4)), (Rows(4), Loop(4), Warps(4))
    if found.rows > 1:
        return (Loop(8), Warps(4)), (Rows(4), Loop(4), Warps(4), Split(2))
    return (Loop(8), Warps(4)), (Loop(4), Warps(4), Split(4))


def kernels(text: str) -> list[str]:
    """The text with all of its nodes in one kernel, a reduction in each of some small tiles."""
    source = observed(text).source
    assert isinstance(source, SourceMap), source
    region = nest_region(source, range(len(source.graph.nodes)))
    assert isinstance(region, NestRegion), region
    nest = region.nest
    edits = nest_edits(source, region, small(nest) if nest.reduced else space(nest, CPU), CPU)
    assert isinstance(edits, tuple), edits
    return [apply(one, text) for one in edits]


def differences(made: dict[str, tuple[str, list[str]]]) -> dict[str, str]:
    """What is wrong with the rewritten texts, for each name and variant, in Triton's interpreter."""
    pairs = [
        [f"{name}, variant {i}", text, after] for name, (text, all_) in made.items() for i, after in enumerate(all_)
    ]
    return problems(pairs)
