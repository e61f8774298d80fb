"""Carries out a Fuse: prints the kernels of a region, in the sizes that are worth a race, and puts them in its place."""

from kernelwright.emit import corrected, dot, folds, rows
from kernelwright.emit.flat import BLOCKS, print_flat
from kernelwright.emit.folds import print_folds
from kernelwright.emit.rows import print_rows as print_scan
from kernelwright.macro.intent import Around, Fuse
from kernelwright.macro.strategy import Observation
from kernelwright.micro.rewrite.candidates import region_of
from kernelwright.micro.rewrite.naming import base_name, named
from kernelwright.micro.rewrite.nested import NestRegion, region_of_action
from kernelwright.micro.rewrite.print_pointwise import VARIANTS, print_pointwise
from kernelwright.micro.rewrite.print_pooled import print_pooled
from kernelwright.micro.rewrite.print_pooled import tiles as pooled_tiles
from kernelwright.micro.rewrite.print_rows import print_rows, row_length
from kernelwright.micro.rewrite.print_split import print_split, splits
from kernelwright.micro.rewrite.print_transposing import print_transposing, tiles
from kernelwright.micro.rewrite.regions import FusedRegion, group_text, names_for
from kernelwright.micro.rewrite.scope import NotLowerable
from kernelwright.micro.rewrite.tiles import shapes
from kernelwright.micro.rewrite.triton_printer import Printed, pointers
from kernelwright.nest.form import Nest
from kernelwright.nest.refused import NotExpressible
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Action, Edits, Refusal


def fused(intent: Fuse, observation: Observation, action: Action) -> tuple[Edits, ...] | Refusal:
    """Edits for each variant of the kernel, best guess first."""
    source = observation.source
    if isinstance(source, Refusal):
        return source
    if intent.around is Around.NEST:
        nested = region_of_action(source, action)
        return nested if isinstance(nested, Refusal) else nest_edits(source, nested)
    reduces = intent.around is Around.ROWS
    region = region_of(source, action, rows=reduces)
    if isinstance(region, Refusal):
        return region
    return _rows(source, region) if reduces else _pointwise(source, region)


def nest_edits(source: SourceMap, region: NestRegion) -> tuple[Edits, ...]:
    """Tiles for a product, steps of a reduction, rows that are walked along by a scan, blocks of results otherwise."""
    nest, edit = region.nest, region.edit
    base, words = named(nest.ops)
    names = names_for(source, base)
    if nest.product:
        kernels = _products(nest, names, words, source.text)
    elif nest.reduced:
        kernels = [print_folds(nest, names, words, tile, source.text) for tile in folds.tiles(nest)]
    elif nest.running:
        kernels = [print_scan(nest, names, words, tile, source.text) for tile in rows.tiles(nest)]
    else:
        kernels = [print_flat(nest, names, words, block, source.text) for block in BLOCKS]
    values = [tensor.value for tensor in nest.tensors]
    return tuple(
        edit.with_call(
            edit.call(k.call, values, nest.numbers.values()), k.definitions, ("torch", "triton", "tl"), k.summary
        )
        for k in kernels
    )


def _products(nest: Nest, names: tuple[str, str], words: str, text: str) -> list[Printed]:
    """Products of fp16 parts where the operands allow it, then those whose precision is left to `tl.dot`."""
    try:
        kernels = [corrected.print_corrected(nest, names, words, tile, text) for tile in corrected.tiles(nest)]
    except NotExpressible:
        kernels = []
    return [*kernels, *(dot.print_dot(nest, names, words, tile, text) for tile in dot.TILES)]


def _pointwise(source: SourceMap, region: FusedRegion) -> tuple[Edits, ...]:
    program, edit = region.program, region.edit
    names = names_for(source, base_name(program))
    dtype = source.graph.value(program.domain.value).type.dtype
    if region.pool:
        pool = region.pool
        kernels = [print_pooled(program, pool, dtype, names, t, source.text) for t in pooled_tiles(program)]
    elif program.transposes:
        kernels = [print_transposing(program, dtype, names, tile, source.text) for tile in tiles(program)]
    else:
        kernels = [print_pointwise(program, dtype, names, *size, source.text) for size in VARIANTS]
    window = [region.pool.expression] if region.pool and region.pool.expression else []
    variants = []
    for printed in kernels:
        call = edit.call(printed.call, pointers(program), [*program.scalars.values(), *window])
        variants.append(edit.with_call(call, printed.definitions, ("torch", "triton", "tl"), printed.summary))
    return tuple(variants)


def _rows(source: SourceMap, region: FusedRegion) -> tuple[Edits, ...]:
    program, edit = region.program, region.edit
    names = names_for(source, base_name(program))
    dtype = source.graph.value(program.domain.value).type.dtype
    groups, numbers = group_text(source.graph, region)
    length = row_length(program, groups)
    printed: list[Printed] = []
    try:
        printed += [print_split(program, dtype, names, s, length, numbers, source.text) for s in splits(program)]
    except NotLowerable:
        printed = []  # several reductions after another: a row stays with one program
    if not printed or program.domain.outer >= 128:
        blocks = shapes(program)[: 3 if printed else None]
        printed += [print_rows(program, dtype, names, t, length, numbers, source.text) for t in blocks]
    arguments = [*program.scalars.values(), *numbers.values()]
    return tuple(
        edit.with_call(
            edit.call(names[1], pointers(program), arguments), p.definitions, ("torch", "triton", "tl"), p.summary
        )
        for p in printed
    )
