"""Pools over adjoining tiles with the pointwise operations before and after them: regions that become one kernel."""

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernelwright.micro.rewrite.algebra import View
from kernelwright.micro.rewrite.algebra_pools import option, tiles
from kernelwright.micro.rewrite.convolution_bias import Biased, biased_convolutions
from kernelwright.micro.rewrite.dtypes import with_dtypes
from kernelwright.micro.rewrite.growth import allowed_ops, grow, sinks_after
from kernelwright.micro.rewrite.lowering import Lowering
from kernelwright.micro.rewrite.program import ELEMENT, Domain, Operand, Pool, Program
from kernelwright.micro.rewrite.regions import FusedRegion, measure, plan, started
from kernelwright.micro.rewrite.scope import Known, NotLowerable
from kernelwright.micro.rewrite.tensor_layout import CHANNELS_LAST, CONTIGUOUS, layout_of
from kernelwright.ops import Kind, names
from kernelwright.place.expression import region_output
from kernelwright.place.source_map import (
    SourceMap,
    attribute_path,
    attribute_text,
    is_module_call,
    loaded_names,
    operands,
)
from kernelwright.values import Node, Refusal, TensorRef

POOLS = names(lambda row: row.kind is Kind.POOLING and row.as_given and row.spatial > 1)


def pooled_regions(source: SourceMap) -> Iterator[FusedRegion | Refusal]:
    """The largest region around each pool, where eager mode runs more than the pool, or why there is none."""
    for node in source.graph.nodes:
        if node.op not in POOLS or tile_of(source, node) is None:
            continue
        for nodes in _nodes_around(source, node):
            region = pooled_region(source, nodes)
            if isinstance(region, Refusal) or region.kernels > 1:
                yield region
            if isinstance(region, FusedRegion):
                break


def pooled_region(source: SourceMap, nodes: Sequence[int]) -> FusedRegion | Refusal:
    """The region of `nodes`, one of which is a pool, with the bias of a convolution before it where that can be."""
    output = region_output(source, nodes)
    if isinstance(output, Refusal):
        return output
    biased = biased_convolutions(source, nodes)
    together = _planned(source, nodes, output, biased) if biased else None
    return together if isinstance(together, FusedRegion) else _planned(source, nodes, output, ())


def _planned(source: SourceMap, nodes: Sequence[int], output: int, biased: Sequence[Biased]) -> FusedRegion | Refusal:
    edit = plan(source, nodes, biased)
    if isinstance(edit, Refusal):
        return edit
    graph, refusal = source.graph, Refusal("The pool is no part of a region.")
    node = next(graph.nodes[n] for n in nodes if graph.nodes[n].op in POOLS)
    for domain in _domains(source, _pooled(node)):
        try:
            lowering = started(graph, nodes, domain, edit, biased)
            program, pool = _lowered(source, lowering, nodes, node, output)
        except NotLowerable as problem:
            refusal = problem.refusal
            continue
        saved, kernels = measure(graph, nodes, output, program.domain, biased)
        return FusedRegion(tuple(nodes), edit, output, program.domain, program, saved, kernels, pool)
    return refusal


def _lowered(
    source: SourceMap, lowering: Lowering, nodes: Sequence[int], node: Node, output: int
) -> tuple[Program, Pool]:
    """The Program of the nodes before and after the pool, and the pool between. Raises NotLowerable."""
    graph, domain = source.graph, lowering.domain
    type_, made = graph.value(_pooled(node)).type, graph.value(node.outputs[0]).type
    if domain.shape != type_.shape:
        raise NotLowerable("The tensor that is pooled has another shape than the region's main input.", node)
    for n in (n for n in nodes if n < node.id):
        lowering.lower(graph.nodes[n])
    element = lowering.operand(_pooled(node), ELEMENT, type_.shape, node).text
    before, name, kind = len(lowering.lines), lowering.fresh("pooled"), node.op[:3]
    lowering.known[node.outputs[0]] = Known(name, ELEMENT, made.shape)
    lowering.ops.append(f"{kind}_pool")
    lowering.domain = replace(
        domain, shape=made.shape, outer=math.prod(made.shape), layout=layout_of(made) or domain.layout
    )
    for n in (n for n in nodes if n > node.id):
        lowering.lower(graph.nodes[n])
    lowering.domain = domain
    inside = [graph.nodes[n] for n in nodes]
    program = with_dtypes(source, inside, lowering.program(inside, output))
    if program.result_shape != made.shape or (program.transposes and domain.layout == CONTIGUOUS):
        raise NotLowerable("The result has another shape, or layout, than that of the pool.", node)
    if any(not _simple(operand, program) for operand in program.operands):
        raise NotLowerable("Beside a pool only numbers, and vectors of one number for each channel, are read.", node)
    window, expression = tile_of(source, node) or (0, "")
    return program, Pool(kind, len(made.shape) - 2, window, expression, before, element, name)


def _simple(operand: Operand, program: Program) -> bool:
    whole = operand.terms is None and operand.value == program.domain.value
    return whole or operand.terms == () or operand.axis == 1


def tile_of(source: SourceMap, node: Node) -> tuple[int, str] | None:
    """The extent of a pool's tiles and how the call writes it; None unless they are small, square and adjoin."""
    extents = tiles(View(source.graph), node)
    shape = source.graph.value(_pooled(node)).type.shape
    if extents is None or len(set(extents)) > 1 or math.prod(extents) > 64 or len(shape) != len(extents) + 2:
        return None
    tree = source.expression(node)
    if not isinstance(tree, ast.Call):
        return None
    part = "" if isinstance(option(node, "kernel_size"), int) else "[0]"
    if is_module_call(node, tree):
        return extents[0], f"{attribute_text(node.module)}.kernel_size{part}"
    given = operands(source, node, tree, {})
    size = given.get("kernel_size", given.get("other"))
    if size is None or attribute_path(size) is not None:
        return None if size is None else (extents[0], f"{source.segment(size)}{part}")
    return None if loaded_names(size) else (extents[0], "")


def _nodes_around(source: SourceMap, pool: Node) -> Iterator[tuple[int, ...]]:
    """The sets of nodes that could become one kernel with the pool, the largest first."""
    earlier = [*_before(source, pool), ()]
    for later in (*_after(source, pool), ()):
        for nodes in earlier:
            yield (*nodes, pool.id, *later)


def _before(source: SourceMap, pool: Node) -> list[tuple[int, ...]]:
    value = _pooled(pool)
    maker = source.producers.get(value)
    if maker is None or len(source.users.get(value, ())) > 1 or value in source.graph.outputs:
        return []
    grown = (grow(source, maker, domain, allowed_ops(reductions=False)) for domain in _domains(source, value))
    return sorted((nodes for nodes in grown if nodes), key=len, reverse=True)[:1]


def _after(source: SourceMap, pool: Node) -> Iterator[tuple[int, ...]]:
    readers = {user.id for user in source.users.get(pool.outputs[0], ())}
    for sink in sinks_after(source, pool)[:-1]:
        for domain in _domains(source, sink.outputs[0]) if sink.outputs else ():
            nodes = grow(source, sink, domain, allowed_ops(reductions=False))
            if nodes and readers <= set(nodes) and min(nodes) > pool.id:
                yield nodes


def _domains(source: SourceMap, value: int) -> Iterator[Domain]:
    shape = source.graph.value(value).type.shape
    for layout in (CONTIGUOUS, CHANNELS_LAST):
        yield Domain(value, shape, math.prod(shape), axes=(len(shape), len(shape)), layout=layout)


def _pooled(node: Node) -> int:
    """The Value that a pool reads."""
    first = node.args[0]
    assert isinstance(first, TensorRef)
    return first.id
