"""Pools of pools: tiles of tiles are larger tiles."""

import math

from kernelwright.micro.rewrite.algebra import Match, View, line_of
from kernelwright.micro.rewrite.algebra_source import Code, Spelling, Unwritable
from kernelwright.ops import Kind, names, parameters
from kernelwright.values import Node, Refusal

POOLS = names(lambda row: row.kind is Kind.POOLING and row.as_given)
"""Max and average pools over windows of a given size."""
_NEUTRAL = {"padding": 0, "dilation": 1}


def pooled_pool(view: View, node: Node) -> Match | Refusal | None:
    """Two max (or mean) pools over adjoining tiles of k1 and then k2 are one over tiles of k1 * k2."""
    if node.op not in POOLS or node.inplace:
        return None
    inner = view.private(node.tensor())
    if inner is None or inner.op != node.op:
        return None
    first, second = tiles(view, inner), tiles(view, node)
    if first is None or second is None:
        return Refusal("The tiles of the two pools overlap, are padded or leave gaps.", line_of(node))
    tile = tuple(a * b for a, b in zip(first, second, strict=True))

    def write(spelling: Spelling) -> Code:
        for pool in (inner, node):
            first = 0 if spelling.module(pool) else 1
            if not all(spelling.pinned(pool, name, first + i) for i, name in enumerate(_options(node)) if i):
                raise Unwritable("The stride or padding of a pool is an argument, and can be another one.")
        modules = [spelling.module(n) for n in (inner, node)]
        plain = all(m is not None for m in modules) and all(
            isinstance(option(n, "kernel_size"), int) for n in (inner, node)
        )
        size = (
            " * ".join(f"{m}.kernel_size" for m in modules) if plain else repr(tile[0] if len(set(tile)) == 1 else tile)
        )
        return Code(f"{spelling.functional}.{node.op}({spelling.once(inner.tensor())}, {size})")

    saved = 2 * view.bytes(inner.outputs[0])
    nodes = frozenset({inner.id, node.id})
    return Match(nodes, node.outputs[0], f"two {node.op} as one", write, math.prod(view.shape(inner.outputs[0])), saved)


def _options(node: Node) -> tuple[str, ...]:
    """The parameters after the input, in order."""
    return tuple(name for name, _ in parameters(node.op)[0][1:])


def option(node: Node, name: str) -> object:
    names = _options(node)
    position = names.index(name) + 1
    return node.args[position] if position < len(node.args) else node.kwargs.get(name)


def tiles(view: View, node: Node) -> tuple[int, ...] | None:
    """The extents of the tiles; None unless they adjoin without padding."""
    rank = int(node.op[-2])
    if len(node.outputs) != 1 or len(view.shape(node.tensor())) < rank + 1:
        return None
    kernel = _each(option(node, "kernel_size"), rank)
    stride = option(node, "stride")
    if kernel is None or (stride not in (None, ()) and _each(stride, rank) != kernel):
        return None
    for name in _options(node)[2:]:
        given = option(node, name)
        if name in _NEUTRAL and given is not None and _each(given, rank) != (_NEUTRAL[name],) * rank:
            return None
        if name in ("ceil_mode", "return_indices", "divisor_override") and given:
            return None
    return kernel


def _each(option: object, rank: int) -> tuple[int, ...] | None:
    if isinstance(option, int):
        return (option,) * rank
    return option if isinstance(option, tuple) and len(option) == rank else None
