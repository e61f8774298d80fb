"""Carries out a Fuse: prints the kernels of a region, in the sizes that are worth a race, and puts them in its place."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kernelwright.emit.corrected import print_corrected
from kernelwright.emit.dot import print_dot
from kernelwright.emit.eager import Spelled, eager_lines
from kernelwright.emit.flat import print_flat
from kernelwright.emit.folds import print_folds
from kernelwright.emit.rows import print_rows
from kernelwright.emit.scans import print_scan
from kernelwright.emit.turned import print_turned
from kernelwright.emit.windowed import print_windowed
from kernelwright.macro.intent import Around, Fuse
from kernelwright.macro.strategy import Observation
from kernelwright.micro.rewrite.candidates import pointwise_region_of, row_region_of
from kernelwright.micro.rewrite.naming import name_of
from kernelwright.micro.rewrite.nested_actions import region_of_action
from kernelwright.micro.rewrite.nested_places import NestRegion
from kernelwright.micro.rewrite.printed import Printed
from kernelwright.micro.rewrite.regions import names_for
from kernelwright.nest.form import Nest
from kernelwright.place.region import region_inputs, region_results
from kernelwright.place.source_map import SourceMap
from kernelwright.place.together import with_calls
from kernelwright.schedule.applying import apply
from kernelwright.schedule.forms import Blocks, Illegal, Product, Reduction, Scan, Schedule, Tiles, WalkedRows
from kernelwright.schedule.operands import are_whole
from kernelwright.schedule.precisions import PRECISIONS
from kernelwright.schedule.spaces import space
from kernelwright.values import Action, Device, Edits, Refusal
from kernelwright.values.opts import Opt


def fused(intent: Fuse, observation: Observation, action: Action) -> tuple[Edits, ...] | Refusal:
    """Edits for each variant of the kernel, best guess first."""
    source = observation.source
    if isinstance(source, Refusal):
        return source
    nested = _REGION_OF[intent.around](source, action)
    if isinstance(nested, Refusal):
        return nested
    if observation.reduced:
        nested = replace(nested, nest=nested.nest.rounding())
    choices = (action.opts,) if action.opts else space(nested.nest, observation.device)
    return nest_edits(source, nested, choices, observation.device)


_REGION_OF: Mapping[Around, Callable[[SourceMap, Action], NestRegion | Refusal]] = {
    Around.NEST: region_of_action,
    Around.POINTWISE: pointwise_region_of,
    Around.ROWS: row_region_of,
}


def nest_edits(
    source: SourceMap, region: NestRegion, choices: Sequence[tuple[Opt, ...]], device: Device
) -> tuple[Edits, ...] | Refusal:
    """Edits for each choice of Opts; a Refusal where one does not fit the region or the device.

    A further place of the region whose sizes ask for another kernel stays as it is.
    """
    names = names_for(source, name_of(region.nest)[0])
    variants = []
    for opts in choices:
        kernel = _kernel(region, names, opts, device, source.text)
        if isinstance(kernel, Illegal):
            return Refusal(kernel.reason, region.edit.start_line)
        others = [(place, _kernel(place, names, opts, device, source.text)) for place in region.also]
        same = [place for place, other in others if not isinstance(other, Illegal) and _alike(kernel, other)]
        written = [(place.edit, _call(place, kernel)) for place in (region, *same)]
        summary = f"{kernel.summary}, in {len(written)} places" if same else kernel.summary
        edits = with_calls(written, kernel.definitions, ("torch", "triton", "tl"), summary)
        variants.append(replace(edits, opts=opts))
    return tuple(variants)


def _kernel(
    region: NestRegion, names: tuple[str, str], opts: tuple[Opt, ...], device: Device, text: str
) -> Printed | Illegal:
    nest = replace(region.nest, eager=_eager_of_nest(region))
    schedule = apply(nest, opts, device)
    return schedule if isinstance(schedule, Illegal) else _printed(nest, names, name_of(nest)[1], schedule, text)


def _alike(one: Printed, other: Printed) -> bool:
    return (one.definitions, one.call) == (other.definitions, other.call)


def _call(region: NestRegion, kernel: Printed) -> str:
    values = [tensor.value for tensor in region.nest.tensors]
    return region.edit.call(kernel.call, values, region.nest.numbers.values())


def _eager_of_nest(region: NestRegion) -> tuple[str, ...]:
    """What the launcher runs where a gradient is asked for."""
    nest, graph = region.nest, region.edit.source.graph
    tensors = {tensor.value: tensor.name for tensor in nest.tensors}
    by_expression = {expression: name for name, expression in nest.numbers.items()}
    spelled = Spelled(tensors, region.numbers, by_expression, frozenset(nest.changed), nest.any_rank, region.biases)
    results = region_results(region.edit.source, region.nodes)
    if isinstance(results, Refusal):
        return ()
    return eager_lines(graph, region.nodes, region_inputs(graph, region.nodes), results, spelled)


def _printed(nest: Nest, names: tuple[str, str], words: str, schedule: Schedule, text: str) -> Printed:
    match schedule:
        case Product(precision=precision) if PRECISIONS[precision].parts:
            print_parts = print_corrected if are_whole(nest) else print_windowed
            return print_parts(nest, names, words, schedule, text)
        case Product():
            return print_dot(nest, names, words, schedule, text)
        case Reduction():
            return print_folds(nest, names, words, schedule, text)
        case Scan():
            return print_scan(nest, names, words, schedule, text)
        case WalkedRows():
            return print_rows(nest, names, words, schedule, text)
        case Blocks():
            return print_flat(nest, names, words, schedule, text)
        case Tiles():
            return print_turned(nest, names, words, schedule, text)
