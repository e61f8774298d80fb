"""A mean pool after a convolution or linear layer is the layer itself with averaged weights, computing fewer outputs."""

import math

from kernelwright.micro.rewrite.algebra import Match, View, line_of
from kernelwright.micro.rewrite.algebra_convolution import convolution
from kernelwright.micro.rewrite.algebra_pools import option, tiles
from kernelwright.micro.rewrite.algebra_source import Code, Spelling, Unwritable
from kernelwright.values import Node, Refusal, TensorRef


def averaged_convolution(view: View, node: Node) -> Match | Refusal | None:
    """avg_pool_k(conv(x, W)) = conv(x, W') with stride k, where W' is W averaged over k shifts in each dimension."""
    if not node.op.startswith("avg_pool") or node.inplace or len(node.args[0:1]) != 1:
        return None
    found = convolution(view, view.private(node.tensor()))
    if found is None or found.transposed or int(node.op[-2]) != found.rank:
        return None
    tile = tiles(view, node)
    if tile is None or set(found.stride) != {1} or set(found.dilation) != {1} or len(set(tile)) != 1:
        return Refusal("The pool's tiles or the convolution's stride and dilation do not compose.", line_of(node))
    k = tile[0]
    taps, more = math.prod(found.kernel), math.prod(extent + k - 1 for extent in found.kernel)
    outputs = math.prod(view.shape(node.outputs[0]))
    flops = found.node.estimated_flops
    saved = flops - flops // max(taps * math.prod(view.shape(found.node.outputs[0])), 1) * more * outputs
    if saved <= 0:
        return Refusal("The averaged kernel would need more operations than the pool saves.", line_of(node))

    def write(spelling: Spelling) -> Code:
        module = spelling.module(found.node) is not None
        _check(spelling, node, found.node)
        size = _tile_text(spelling, node, k)
        x, weight = spelling.value(found.x), spelling.value(found.weight)
        kernel = spelling.fresh("weight")
        functional = spelling.functional
        tile, margin = spelling.fresh("tile"), spelling.fresh("margin")
        margins = f"({', '.join([margin] * (2 * found.rank))})"
        padded = f"{functional}.pad({weight}, {margins})"
        lines = [
            "# A mean over tiles of a convolution is a convolution with the weight averaged over the shifts of a tile.",
            f"{tile} = {size}",
            f"{margin} = {tile} - 1",
            f"{kernel} = {functional}.{node.op}({padded}, {tile}, stride=1)",
        ]
        bias = spelling.value(found.bias) if found.bias is not None else "None"
        name = spelling.module(found.node)
        padding = f"{name}.padding" if module else repr(found.padding)
        groups = f"{name}.groups" if module else repr(found.groups)
        options = f"stride={tile}, padding={padding}, groups={groups}"
        return Code(f"{functional}.{found.node.op}({x}, {kernel}, {bias}, {options})", tuple(lines))

    return Match(
        frozenset({found.node.id, node.id}),
        node.outputs[0],
        f"{found.node.op}, {node.op} as one convolution",
        write,
        saved,
        2 * view.bytes(found.node.outputs[0]),
    )


def averaged_features(view: View, node: Node) -> Match | None:
    """The mean over groups of k features of a linear layer is a linear layer with k times fewer features."""
    pool = _pool_of_features(view, node)
    if pool is None:
        return None
    inside, core, k = pool
    features = view.shape(core.outputs[0])[-1]

    def write(spelling: Spelling) -> Code:
        _check(spelling, inside[1], None)
        size = _tile_text(spelling, inside[1], k)
        x, weight = spelling.value(core.tensor()), spelling.value(core.tensor(1))
        lines = ["# A mean over groups of features is taken of the weights that make them: fewer features to compute."]
        tile, groups, name = (spelling.fresh(n) for n in ("tile", "groups", "weight"))
        lines += [f"{tile} = {size}", f"{groups} = {weight}.shape[0] // {tile}"]
        lines.append(f"{name} = {weight}[: {groups} * {tile}].unflatten(0, ({groups}, {tile})).mean(1)")
        arguments = [x, name]
        if isinstance(core.args[2], TensorRef):
            bias, old = spelling.fresh("bias"), spelling.value(core.args[2].id)
            lines.append(f"{bias} = {old}[: {groups} * {tile}].unflatten(0, ({groups}, {tile})).mean(1)")
            arguments.append(bias)
        return Code(f"{spelling.functional}.linear({', '.join(arguments)})", tuple(lines))

    return Match(
        frozenset({core.id, *(n.id for n in inside)}),
        node.outputs[0],
        f"the mean over groups of {k} of {features} features before the linear layer",
        write,
        core.estimated_flops * (k - 1) // k,
        2 * view.bytes(core.outputs[0]),
    )


def _pool_of_features(view: View, node: Node) -> tuple[tuple[Node, Node, Node], Node, int] | None:
    """unsqueeze(1), avg_pool1d, squeeze(1) after a linear layer on a matrix; its tile."""
    if node.op != "squeeze" or node.kwargs.get("dim") != 1:
        return None
    pool = view.private(node.tensor())
    if pool is None or pool.op != "avg_pool1d":
        return None
    opened = view.private(pool.tensor())
    if opened is None or opened.op != "unsqueeze" or opened.kwargs.get("dim") != 1:
        return None
    core = view.private(opened.tensor())
    tile = tiles(view, pool)
    if core is None or core.op != "linear" or tile is None or len(view.shape(core.outputs[0])) != 2 or tile[0] == 1:
        return None
    return (opened, pool, node), core, tile[0]


def _check(spelling: Spelling, pool: Node, convolved: Node | None) -> None:
    """What is taken for granted must hold however the class is constructed."""
    first = 0 if spelling.module(pool) else 1
    options = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
    if not all(spelling.pinned(pool, name, first + i) for i, name in enumerate(options) if i):
        raise Unwritable("The stride or padding of the pool is an argument, and can be another one.")
    if convolved is None:
        return
    if not all(spelling.pinned(convolved, name, i) for name, i in (("stride", 3), ("dilation", 5))):
        raise Unwritable("The stride or dilation of the convolution is an argument, and can be another one.")


def _tile_text(spelling: Spelling, pool: Node, k: int) -> str:
    """The extent of a tile, where the module holds it as a number."""
    module, given = spelling.module(pool), option(pool, "kernel_size")
    if module is None or not isinstance(given, int | tuple):
        return repr(k)
    return f"{module}.kernel_size" if isinstance(given, int) else f"{module}.kernel_size[0]"
